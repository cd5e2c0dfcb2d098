-- Makes the messages due that wait for an app, because one has registered. The sweep moves
-- them, as any that are due.
--
-- KEYS[1] stalled set
-- KEYS[2] retry zset
-- KEYS[3] counter of registrations that woke the stalled ones
-- KEYS[4] doorbell channel
-- ARGV[1] task key prefix
-- ARGV[2] how many at most
-- ARGV[3] now, in seconds with three decimals
-- ARGV[4] what to say on the doorbell
-- Reply: {messages still stalled}
-- $include lib/may.lua

may('HDEL', 'INCR', 'SCARD', 'SPOP', 'ZADD', 'ZSCORE')

redis.call('INCR', KEYS[3])
local woken = 0
while woken < tonumber(ARGV[2]) do
  local id = redis.call('SPOP', KEYS[1])
  if not id then
    break
  end
  woken = woken + 1
  if redis.call('ZSCORE', KEYS[2], id) then
    redis.call('HDEL', ARGV[1] .. id, 'stalled')
    redis.call('ZADD', KEYS[2], ARGV[3], id)
  end
end
local left = redis.call('SCARD', KEYS[1])
redis.pcall('PUBLISH', KEYS[4], ARGV[4])
return {left}
