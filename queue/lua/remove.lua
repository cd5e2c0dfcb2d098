-- Removes one message, whatever its state, with all that belongs to it. One in an app's hands stays until its delivery
-- ends, and is not put back then.
--
-- KEYS[1] task hash
-- KEYS[2] pending list
-- KEYS[3] scheduled zset
-- KEYS[4] retry zset
-- KEYS[5] archived zset
-- KEYS[6] completed zset
-- KEYS[7] stalled set
-- KEYS[8] hash: run and deployment -> wake-up that waits to be delivered now
-- KEYS[9] hash: run -> wake-up parked until another has ended
-- KEYS[10] hash: run -> its delayed wake-up
-- ARGV[1] message id
-- ARGV[2] up to which length the pending list is searched; beyond it the id stays there until it is taken, which does
--         nothing
-- Reply: {0} removed; {1} it is in an app's hands, and is removed when its delivery ends; {2} there is no such message
-- $include lib/drop.lua
-- $include lib/may.lua

may('DEL', 'HDEL', 'HGET', 'HMGET', 'HSET', 'LLEN', 'LREM', 'SREM', 'ZREM')

local id = ARGV[1]
local function forget_field(hash, field)
  if field and redis.call('HGET', hash, field) == id then
    redis.call('HDEL', hash, field)
  end
end

local f = redis.call('HMGET', KEYS[1], 'state', 'solo', 'wait', 'crowded')
local state = f[1]
if not state then
  return {2}
end
if state == 'active' then
  redis.call('HSET', KEYS[1], 'over', '1')
  return {1}
end
if state == 'pending' and redis.call('LLEN', KEYS[2]) <= tonumber(ARGV[2]) then
  redis.call('LREM', KEYS[2], -1, id)
end
for _, set in ipairs({KEYS[3], KEYS[4], KEYS[5], KEYS[6]}) do
  redis.call('ZREM', set, id)
end
redis.call('SREM', KEYS[7], id)
if f[4] then
  redis.call('ZREM', f[4], id)
end
forget_field(KEYS[8], f[3])
forget_field(KEYS[9], f[2])
forget_field(KEYS[10], f[2])
drop(KEYS[1], id, KEYS[8])
return {0}
