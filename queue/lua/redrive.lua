-- redrive: puts a dead message back to be delivered, with no failed deliveries. Its app may have
-- seen it, so the delivery does not count as the first.
-- KEYS: task archived pending idempotency doorbell
-- ARGV: id now prefix ring
-- REPLY: {0} put back; {1} it is not dead, or no longer; {2} its key belongs to another message now
-- $include lib/own_key.lua
-- $include lib/may.lua
local task = KEYS[1]
local archived = KEYS[2]
local pending = KEYS[3]
local idempotency = KEYS[4] -- hash: idempotency key -> message id
local doorbell = KEYS[5]
local id = ARGV[1]
local now = ARGV[2] -- in ns
local prefix = ARGV[3] -- of task keys
local ring = ARGV[4] -- what to publish on the doorbell

may('HDEL', 'HGET', 'HMGET', 'HSET', 'LPUSH', 'SADD', 'ZREM')

local f = redis.call('HMGET', task, 'state', 'key', 'run')
if f[1] ~= 'archived' then
  return {1}
end
if f[2] then
  local holder = redis.call('HGET', idempotency, f[2])
  if holder and holder ~= id then
    local state = redis.call('HGET', prefix .. holder, 'state')
    if state and state ~= 'archived' and state ~= 'completed' then
      return {2}
    end
  end
  redis.call('HSET', idempotency, f[2], id)
end
if f[3] then
  redis.call('SADD', own_key(idempotency, 'of:' .. f[3]), id)
end
redis.call('ZREM', archived, id)
redis.call('HDEL', task, 'failed', 'moved', 'reason', 'ended', 'over', 'crashes', 'longest', 'lasted', 'counted', 'crash', 'alone')
redis.call('HSET', task, 'state', 'pending', 'pending_since', now)
redis.call('LPUSH', pending, id)
redis.pcall('PUBLISH', doorbell, ring)
return {0}
