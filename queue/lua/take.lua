-- Takes messages for delivery and leases them to the caller.
--
-- KEYS[1] pending list
-- KEYS[2] paused flag
-- KEYS[3] active list
-- KEYS[4] lease zset
-- KEYS[5] stalled set: messages that wait for an app
-- KEYS[6] counter of registrations that woke the stalled ones
-- ARGV[1] task key prefix
-- ARGV[2] owner token
-- ARGV[3] how many at most
-- ARGV[4] end of the lease, in seconds with three decimals
-- Reply: {messages left, wakes, id, message, failed deliveries, rescheduled, id, ...}
local wakes = redis.call('GET', KEYS[6]) or '0'
if redis.call('EXISTS', KEYS[2]) == 1 then
  return {0, wakes}
end
local reply = {0, wakes}
local taken, most = 0, tonumber(ARGV[3])
while taken < most do
  local id = redis.call('RPOP', KEYS[1])
  if not id then
    break
  end
  local task = ARGV[1] .. id
  local fields = redis.call('HMGET', task, 'msg', 'failed', 'moved', 'stalled')
  if fields[1] then
    if fields[4] then
      redis.call('HDEL', task, 'stalled')
      redis.call('SREM', KEYS[5], id)
    end
    redis.call('LPUSH', KEYS[3], id)
    redis.call('ZADD', KEYS[4], ARGV[4], id)
    redis.call('HSET', task, 'state', 'active', 'owner', ARGV[2])
    redis.call('HDEL', task, 'pending_since')
    taken = taken + 1
    reply[#reply + 1] = id
    reply[#reply + 1] = fields[1]
    reply[#reply + 1] = fields[2] or '0'
    reply[#reply + 1] = fields[3] or '0'
  end
end
reply[1] = redis.call('LLEN', KEYS[1])
return reply
