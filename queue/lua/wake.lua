-- Brings the messages that wait for an app forward, because one has registered.
--
-- KEYS[1] stalled set
-- KEYS[2] retry zset
-- KEYS[3] pending list
-- KEYS[4] counter of registrations that woke the stalled ones
-- KEYS[5] doorbell channel
-- ARGV[1] task key prefix
-- ARGV[2] how many at most
-- ARGV[3] now, in ns
-- ARGV[4] what to say on the doorbell
-- Reply: {messages still stalled}
redis.call('INCR', KEYS[4])
local woken = 0
while woken < tonumber(ARGV[2]) do
  local id = redis.call('SPOP', KEYS[1])
  if not id then
    break
  end
  woken = woken + 1
  if redis.call('ZREM', KEYS[2], id) == 1 then
    redis.call('HDEL', ARGV[1] .. id, 'stalled')
    redis.call('HSET', ARGV[1] .. id, 'state', 'pending', 'pending_since', ARGV[3])
    redis.call('LPUSH', KEYS[3], id)
  end
end
redis.call('PUBLISH', KEYS[5], ARGV[4])
return {redis.call('SCARD', KEYS[1])}
