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
-- $include lib/count.lua
-- $include lib/free_key.lua
-- $include lib/unlist.lua
-- $include lib/keep.lua
-- $include lib/release_run.lua

local id = ARGV[1]
local f = redis.call('HMGET', KEYS[1], 'owner', 'solo', 'key', 'run', 'lead')
if f[1] ~= ARGV[2] then
  return {0}
end
-- Until the last change the message is still the caller's, so the call can be made again where Redis refuses one of these;
-- without its lease the sweep gives it back if nobody makes it again.
redis.call('HSET', KEYS[1], 'ended', ARGV[6])
redis.call('ZREM', KEYS[3], id)
local released = (f[2] or f[5]) and release_run(KEYS[1], id, KEYS[7], KEYS[8], KEYS[9], KEYS[10], ARGV[4])
free_key(KEYS[4], f[3], id)
unlist(KEYS[4], f[4], id)
if redis.call('HSTRLEN', KEYS[1], 'msg') > tonumber(ARGV[9]) then
  redis.call('DEL', KEYS[11]) -- no key has its name
  redis.call('LREM', KEYS[2], 1, id)
  redis.call('DEL', KEYS[1])
else
  local kept = keep(KEYS[12], ARGV[7], id, tonumber(ARGV[8]), ARGV[4])
  redis.call('LREM', KEYS[2], 1, id)
  if kept then
    redis.call('HSET', KEYS[1], 'state', 'completed', 'owner', '')
  end
end
count(KEYS[5], KEYS[6], ARGV[3])
if released then
  redis.pcall('PUBLISH', KEYS[11], ARGV[5])
end
return {1, released and 1 or 0}
