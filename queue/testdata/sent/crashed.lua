local function server_time()
  local t = redis.call('TIME')
  return tonumber(t[1]) + tonumber(t[2]) / 1000000
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
local interrupted_set = KEYS[2]
local suspect = KEYS[3]
local id = ARGV[1]
local owner = ARGV[2]
local crashes = ARGV[3]
local longest = ARGV[4]
local ttl = ARGV[5]
local lasted = ARGV[6]
may('EXPIRE', 'HDEL', 'HMGET', 'HSET', 'ZADD')
local f = redis.call('HMGET', task, 'owner', 'counted', 'crash')
if f[1] ~= owner then
  return {0}
end
local counted = tonumber(f[2] or '0')
if f[3] == owner then
  return {1, counted}
end
local s = redis.call('HMGET', suspect, 'id', 'owner', 'shared')
local alone = s[1] == id and s[2] == owner
local now = string.format('%.3f', server_time())
if alone and s[3] ~= '1' then
  counted = counted + 1
end
redis.call('ZADD', interrupted_set, now, id)
redis.call('EXPIRE', interrupted_set, ttl)
redis.call('HSET', task, 'crashes', crashes, 'longest', longest, 'lasted', lasted, 'counted', counted, 'crash', owner)
if alone then
  if s[3] ~= '1' then
    redis.call('HSET', suspect, 'found', now)
  end
  redis.call('HDEL', suspect, 'id', 'owner', 'since', 'longest', 'shared')
end
return {1, counted}
