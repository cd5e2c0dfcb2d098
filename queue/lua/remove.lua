-- remove: removes one message in any state with all that belongs to it. A message that is being delivered stays until its delivery
-- ends, and is not put back then.
-- KEYS: task pending scheduled retry archived completed waiting_for_app waiting parked delayed
-- ARGV: id longest_searched
-- REPLY: {0} removed; {1} it is being delivered, and is removed when its delivery ends; {2} there is no such message
-- $include lib/drop.lua
-- $include lib/may.lua
local task = KEYS[1]
local pending = KEYS[2]
local scheduled = KEYS[3]
local retry = KEYS[4]
local archived = KEYS[5]
local completed = KEYS[6]
local waiting_for_app = KEYS[7] -- set: messages that wait for an app
local waiting = KEYS[8] -- hash: run and deployment -> wake-up that waits to be delivered now
local parked = KEYS[9] -- hash: run -> wake-up parked until another has ended
local delayed = KEYS[10] -- hash: run -> its delayed wake-up
local id = ARGV[1]
local longest_searched = tonumber(ARGV[2]) -- pending list; in a longer one the id stays until it is claimed, which does nothing

may('DEL', 'HDEL', 'HGET', 'HMGET', 'HSET', 'LLEN', 'LREM', 'SREM', 'ZREM')

local function forget_field(hash, field)
  if field and redis.call('HGET', hash, field) == id then
    redis.call('HDEL', hash, field)
  end
end

local f = redis.call('HMGET', task, 'state', 'solo', 'wait', 'crowded')
local state = f[1]
if not state then
  return {2}
end
if state == 'active' then
  redis.call('HSET', task, 'over', '1')
  return {1}
end
if state == 'pending' and redis.call('LLEN', pending) <= longest_searched then
  redis.call('LREM', pending, -1, id)
end
for _, set in ipairs({scheduled, retry, archived, completed}) do
  redis.call('ZREM', set, id)
end
redis.call('SREM', waiting_for_app, id)
if f[4] then
  redis.call('ZREM', f[4], id)
end
forget_field(waiting, f[3])
forget_field(parked, f[2])
forget_field(delayed, f[2])
drop(task, id, waiting)
return {0}
