-- Sets a message aside that cannot be delivered; its idempotency key is free again.
--
-- KEYS[1] task hash
-- KEYS[2] active list
-- KEYS[3] lease zset
-- KEYS[4] archived zset
-- KEYS[5] hash: idempotency key -> message id
-- KEYS[6] asynq's counter of processed messages of the day
-- KEYS[7] asynq's counter of processed messages
-- KEYS[8] asynq's counter of failed messages of the day
-- KEYS[9] asynq's counter of failed messages
-- KEYS[10] hash: run -> wake-up being delivered
-- KEYS[11] hash: run -> wake-up parked until that has ended
-- KEYS[12] scheduled zset
-- KEYS[13] pending list
-- KEYS[14] doorbell channel
-- ARGV[1] message id
-- ARGV[2] owner token
-- ARGV[3] now, in seconds
-- ARGV[4] reason in words
-- ARGV[5] how many dead messages are kept
-- ARGV[6] task key prefix
-- ARGV[7] when the counters of the day end, in seconds
-- ARGV[8] what to say on the doorbell
-- ARGV[9] now, in ms
-- Reply: {1, 1 if another message is pending now} set aside; {0} no longer the caller's
-- $include lib/leave.lua
-- $include lib/count.lua
-- $include lib/free_key.lua
-- $include lib/unlist.lua
-- $include lib/keep.lua
-- $include lib/release_run.lua
-- $include lib/may.lua

may('DEL', 'EXISTS', 'HDEL', 'HGET', 'HINCRBY', 'HMGET', 'HSET', 'LREM', 'RPUSH', 'SREM', 'ZADD', 'ZCARD', 'ZPOPMIN', 'ZREM')

if not leave(KEYS[1], KEYS[2], KEYS[3], ARGV[1], ARGV[2]) then
  return {0}
end
local released = release_run(KEYS[1], ARGV[1], KEYS[10], KEYS[11], KEYS[12], KEYS[13], ARGV[6])
local f = redis.call('HMGET', KEYS[1], 'key', 'run')
free_key(KEYS[5], f[1], ARGV[1])
unlist(KEYS[5], f[2], ARGV[1])
redis.call('HSET', KEYS[1], 'state', 'archived', 'reason', ARGV[4], 'ended', ARGV[9])
redis.call('HINCRBY', KEYS[1], 'failed', 1)
keep(KEYS[4], ARGV[3], ARGV[1], tonumber(ARGV[5]), ARGV[6])
count(KEYS[6], KEYS[7], ARGV[7])
count(KEYS[8], KEYS[9], ARGV[7])
if released then
  redis.pcall('PUBLISH', KEYS[14], ARGV[8])
end
return {1, released and 1 or 0}
