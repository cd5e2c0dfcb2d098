local function own_key(sibling, name)
  return (string.gsub(sibling, '[^:]*$', '')) .. name
end
local function may(...)
  if redis.acl_check_cmd then
    for _, command in ipairs({...}) do
      if not redis.acl_check_cmd(command, KEYS[1], '', '') then
        error('NOPERM the Redis user may not use ' .. command)
      end
    end
  elseif redis.breakpoint then
    local harmless = {
      DEL = {}, EXISTS = {}, EXPIRE = {1}, GET = {}, HDEL = {'f'}, HEXISTS = {'f'}, HGET = {'f'}, HINCRBY = {'f', 1}, HMGET = {'f'},
      HSET = {'f', 'v'}, INCR = {}, LLEN = {}, LPUSH = {'v'}, LRANGE = {0, 0}, LREM = {1, 'v'}, RPUSH = {'v'}, SADD = {'v'}, SCARD = {},
      SPOP = {}, SREM = {'v'}, SSCAN = {0}, ZADD = {'XX', 1, 'v'}, ZCARD = {}, ZMSCORE = {'v'}, ZPOPMIN = {}, ZRANGE = {0, 0},
      ZRANGEBYSCORE = {0, 0}, ZREM = {'v'}, ZREVRANGE = {0, 0}, ZSCORE = {'v'},
    }
    local nobody, remove = KEYS[1] .. ':may', 'DEL'
    redis.call(remove, nobody)
    for _, command in ipairs({...}) do
      if harmless[command] then
        redis.call(command, nobody, unpack(harmless[command]))
        redis.call(remove, nobody)
      else
        redis.call(command)
      end
    end
  end
end
local task = KEYS[1]
local archived = KEYS[2]
local pending = KEYS[3]
local idempotency = KEYS[4]
local doorbell = KEYS[5]
local id = ARGV[1]
local now = ARGV[2]
local prefix = ARGV[3]
local ring = ARGV[4]
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
