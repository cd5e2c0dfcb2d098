-- Ends a message that was delivered: body, lease and idempotency key go at once.
--
-- KEYS[1] task hash
-- KEYS[2] active list
-- KEYS[3] lease zset
-- KEYS[4] hash: idempotency key -> message id
-- KEYS[5] asynq's counter of the day
-- KEYS[6] asynq's counter
-- ARGV[1] message id
-- ARGV[2] owner token
-- ARGV[3] when the counter of the day ends, in seconds
-- Reply: {1} done; {0} no longer the caller's
-- $include lib/leave.lua
-- $include lib/count.lua
-- $include lib/free_key.lua

if not leave(KEYS[1], KEYS[2], KEYS[3], ARGV[1], ARGV[2]) then
  return {0}
end
free_key(KEYS[1], KEYS[4], ARGV[1])
redis.call('DEL', KEYS[1])
count(KEYS[5], KEYS[6], ARGV[3])
return {1}
