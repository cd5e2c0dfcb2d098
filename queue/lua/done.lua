-- Ends a message that was delivered: body, lease and idempotency key go at once.
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
-- ARGV[1] message id
-- ARGV[2] owner token
-- ARGV[3] when the counter of the day ends, in seconds
-- ARGV[4] task key prefix
-- ARGV[5] what to say on the doorbell
-- Reply: {1, 1 if another message is pending now} done; {0} no longer the caller's
-- $include lib/leave.lua
-- $include lib/count.lua
-- $include lib/free_key.lua
-- $include lib/release_run.lua

if not leave(KEYS[1], KEYS[2], KEYS[3], ARGV[1], ARGV[2]) then
  return {0}
end
local released = release_run(KEYS[1], ARGV[1], KEYS[7], KEYS[8], KEYS[9], KEYS[10], ARGV[4])
if released then
  redis.call('PUBLISH', KEYS[11], ARGV[5])
end
free_key(KEYS[1], KEYS[4], ARGV[1])
redis.call('DEL', KEYS[1])
count(KEYS[5], KEYS[6], ARGV[3])
return {1, released and 1 or 0}
