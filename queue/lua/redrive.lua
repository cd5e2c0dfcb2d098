-- Puts a dead message back to be delivered, as if nobody had failed at it yet. Its app may have
-- seen it, so it is not announced as a first delivery.
--
-- KEYS[1] task hash
-- KEYS[2] archived zset
-- KEYS[3] pending list
-- KEYS[4] hash: idempotency key -> message id
-- KEYS[5] doorbell channel
-- ARGV[1] message id
-- ARGV[2] now, in ns
-- ARGV[3] task key prefix
-- ARGV[4] what to say on the doorbell
-- Reply: {0} put back; {1} it is not dead, perhaps any more; {2} its key belongs to another message now
-- $include lib/own_key.lua
-- $include lib/may.lua

may('HDEL', 'HGET', 'HMGET', 'HSET', 'LPUSH', 'SADD', 'ZREM')

local f = redis.call('HMGET', KEYS[1], 'state', 'key', 'run')
if f[1] ~= 'archived' then
  return {1}
end
if f[2] then
  local holder = redis.call('HGET', KEYS[4], f[2])
  if holder and holder ~= ARGV[1] then
    local state = redis.call('HGET', ARGV[3] .. holder, 'state')
    if state and state ~= 'archived' and state ~= 'completed' then
      return {2}
    end
  end
  redis.call('HSET', KEYS[4], f[2], ARGV[1])
end
if f[3] then
  redis.call('SADD', own_key(KEYS[4], 'of:' .. f[3]), ARGV[1])
end
redis.call('ZREM', KEYS[2], ARGV[1])
redis.call('HDEL', KEYS[1], 'failed', 'moved', 'reason', 'ended', 'over', 'crashes', 'longest', 'lasted', 'counted', 'crash', 'alone')
redis.call('HSET', KEYS[1], 'state', 'pending', 'pending_since', ARGV[2])
redis.call('LPUSH', KEYS[3], ARGV[1])
redis.pcall('PUBLISH', KEYS[5], ARGV[4])
return {0}
