-- Ends the rest of a run: the wake-up that was parked for it is delivered now, unless another
-- one of the run is being delivered.
--
-- KEYS[1] string: the run rests
-- KEYS[2] hash: run -> wake-up being delivered
-- KEYS[3] hash: run -> wake-up that is parked
-- KEYS[4] scheduled zset
-- KEYS[5] pending list
-- KEYS[6] doorbell channel
-- ARGV[1] run
-- ARGV[2] task key prefix
-- ARGV[3] now, in ns
-- ARGV[4] what to say on the doorbell
-- Reply: {1 if a message is pending now, else 0}
-- $include lib/may.lua

may('DEL', 'HDEL', 'HEXISTS', 'HGET', 'HSET', 'RPUSH', 'ZREM')

redis.call('DEL', KEYS[1])
local id = redis.call('HGET', KEYS[3], ARGV[1])
if not id or redis.call('HEXISTS', KEYS[2], ARGV[1]) == 1 then
  return {0}
end
redis.call('HDEL', KEYS[3], ARGV[1])
if redis.call('HDEL', ARGV[2] .. id, 'parked') == 0 then
  return {0}
end
redis.call('ZREM', KEYS[4], id)
redis.call('HSET', ARGV[2] .. id, 'state', 'pending', 'pending_since', ARGV[3])
redis.call('RPUSH', KEYS[5], id)
redis.pcall('PUBLISH', KEYS[6], ARGV[4])
return {1}
