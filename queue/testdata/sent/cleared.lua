local function interrupted(set, prefix, after, except, since)
  local open, in_hand, suspects = 0, 0, 0
  local members = redis.call('ZREVRANGE', set, 0, 199, 'WITHSCORES')
  for i = 1, #members, 2 do
    local id = members[i]
    local f = redis.call('HMGET', prefix .. id, 'state', 'crashes', 'owner', 'alone')
    local crashes = tonumber(f[2] or '0')
    if not f[1] or f[1] == 'completed' or f[1] == 'archived' or crashes == 0 then
      redis.call('ZREM', set, id)
    else
      local counts = id ~= except and tonumber(members[i + 1]) >= since
      if crashes < after then
        open = open + (counts and 1 or 0)
      else
        suspects = suspects + 1
        in_hand = in_hand + (counts and f[3] and f[3] == f[4] and 1 or 0)
      end
    end
  end
  return open, in_hand, suspects
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
local prefix = ARGV[3]
local after = tonumber(ARGV[4])
may('DEL', 'HDEL', 'HEXISTS', 'HGET', 'HMGET', 'ZREM', 'ZREVRANGE')
if redis.call('HGET', task, 'owner') ~= owner then
  return {0}
end
redis.call('HDEL', task, 'crashes', 'longest', 'lasted', 'counted', 'crash', 'alone')
redis.call('ZREM', interrupted_set, id)
if redis.call('HGET', suspect, 'id') == id then
  redis.call('HDEL', suspect, 'id', 'owner', 'since', 'longest', 'shared')
end
if redis.call('HEXISTS', suspect, 'said') == 0 then
  return {1, 0}
end
local _, _, suspects = interrupted(interrupted_set, prefix, after, '', 0)
if suspects > 0 then
  return {1, 0}
end
redis.call('DEL', suspect)
return {1, 1}
