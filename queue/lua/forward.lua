-- Brings messages forward that were set aside because their app had too many deliveries in
-- work; those that have waited longest go first.
--
-- KEYS[1] zset: messages set aside for one app
-- KEYS[2] retry zset
-- KEYS[3] pending list
-- KEYS[4] doorbell channel
-- ARGV[1] task key prefix
-- ARGV[2] how many at most
-- ARGV[3] now, in ns
-- ARGV[4] what to say on the doorbell
-- Reply: {messages still set aside}
-- $include lib/may.lua

may('HDEL', 'HSET', 'RPUSH', 'ZCARD', 'ZPOPMIN', 'ZREM')

local forward, most = {}, tonumber(ARGV[2])
while #forward < most do
  local first = redis.call('ZPOPMIN', KEYS[1])
  if not first[1] then
    break
  end
  -- One that was due meanwhile is pending already.
  if redis.call('ZREM', KEYS[2], first[1]) == 1 then
    forward[#forward + 1] = first[1]
  end
end
for i = #forward, 1, -1 do
  redis.call('HDEL', ARGV[1] .. forward[i], 'crowded')
  redis.call('HSET', ARGV[1] .. forward[i], 'state', 'pending', 'pending_since', ARGV[3])
  redis.call('RPUSH', KEYS[3], forward[i])
end
local left = redis.call('ZCARD', KEYS[1])
if #forward > 0 then
  redis.pcall('PUBLISH', KEYS[4], ARGV[4])
end
return {left}
