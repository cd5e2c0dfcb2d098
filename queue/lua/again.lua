-- Puts a message back to be delivered again, now or later; it keeps its id and its
-- idempotency key.
--
-- KEYS[1] task hash
-- KEYS[2] active list
-- KEYS[3] lease zset
-- KEYS[4] pending list
-- KEYS[5] retry zset
-- KEYS[6] stalled set
-- KEYS[7] counter of registrations that woke the stalled ones
-- KEYS[8] doorbell channel
-- ARGV[1] message id
-- ARGV[2] owner token
-- ARGV[3] due, in seconds with three decimals; empty: now
-- ARGV[4] why: failed (charged), moved (the app asked), stalled (waits for an app;
--         a registration brings it forward), or returned (undelivered; goes first)
-- ARGV[5] reason in words
-- ARGV[6] counter of registrations when the message was taken
-- ARGV[7] now, in ns
-- ARGV[8] what to say on the doorbell
-- Reply: {1} put back; {0} no longer the caller's
-- $include lib/leave.lua

if not leave(KEYS[1], KEYS[2], KEYS[3], ARGV[1], ARGV[2]) then
  return {0}
end
local due, why = ARGV[3], ARGV[4]
if why == 'failed' then
  redis.call('HINCRBY', KEYS[1], 'failed', 1)
elseif why == 'moved' then
  redis.call('HSET', KEYS[1], 'moved', '1')
elseif why == 'stalled' then
  if (redis.call('GET', KEYS[7]) or '0') ~= ARGV[6] then
    due = '' -- an app registered meanwhile
  else
    redis.call('HSET', KEYS[1], 'stalled', '1')
    redis.call('SADD', KEYS[6], ARGV[1])
  end
end
if ARGV[5] ~= '' then
  redis.call('HSET', KEYS[1], 'reason', ARGV[5])
end
if due ~= '' then
  redis.call('HSET', KEYS[1], 'state', 'retry')
  redis.call('ZADD', KEYS[5], due, ARGV[1])
  redis.call('PUBLISH', KEYS[8], ARGV[8])
  return {1}
end
redis.call('HSET', KEYS[1], 'state', 'pending', 'pending_since', ARGV[7])
local length
if why == 'returned' then
  length = redis.call('RPUSH', KEYS[4], ARGV[1])
else
  length = redis.call('LPUSH', KEYS[4], ARGV[1])
end
if length == 1 then
  redis.call('PUBLISH', KEYS[8], ARGV[8])
end
return {1}
