-- Ends a message that was delivered: lease and idempotency key go at once, and the message too,
-- but for the last ones, which are kept for people to look at.
--
-- KEYS[1] task hash
-- KEYS[2] active list
-- KEYS[3] lease zset
-- KEYS[4] hash: idempotency key -> message id
-- KEYS[5] asynq's counter of the day
-- KEYS[6] asynq's counter
-- KEYS[7] hash: run -> wake-up being delivered
-- KEYS[8] hash: run -> wake-up parked until that has ended
-- KEYS[9] scheduled zset
-- KEYS[10] pending list
-- KEYS[11] doorbell channel
-- KEYS[12] completed zset
-- ARGV[1] message id
-- ARGV[2] owner token
-- ARGV[3] when the counter of the day ends, in seconds
-- ARGV[4] task key prefix
-- ARGV[5] what to say on the doorbell
-- ARGV[6] now, in ms
-- ARGV[7] until when the message is kept, in seconds
-- ARGV[8] how many completed messages are kept
-- ARGV[9] the largest message that is kept, in bytes
-- Reply: {1, 1 if another message is pending now} done; {0} no longer the caller's
-- $include lib/leave.lua
-- $include lib/count.lua
-- $include lib/free_key.lua
-- $include lib/unlist.lua
-- $include lib/keep.lua
-- $include lib/release_run.lua

if not leave(KEYS[1], KEYS[2], KEYS[3], ARGV[1], ARGV[2]) then
  return {0}
end
local released = release_run(KEYS[1], ARGV[1], KEYS[7], KEYS[8], KEYS[9], KEYS[10], ARGV[4])
if released then
  redis.call('PUBLISH', KEYS[11], ARGV[5])
end
free_key(KEYS[1], KEYS[4], ARGV[1])
unlist(KEYS[1], ARGV[1], KEYS[4])
if redis.call('HSTRLEN', KEYS[1], 'msg') > tonumber(ARGV[9]) then
  redis.call('DEL', KEYS[1])
else
  redis.call('HSET', KEYS[1], 'state', 'completed', 'ended', ARGV[6])
  keep(KEYS[12], ARGV[7], ARGV[1], tonumber(ARGV[8]), ARGV[4])
end
count(KEYS[5], KEYS[6], ARGV[3])
return {1, released and 1 or 0}
