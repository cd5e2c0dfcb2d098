local function server_time()
  local t = redis.call('TIME')
  return tonumber(t[1]) + tonumber(t[2]) / 1000000
end
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
local set_aside = KEYS[4]
local interrupted_before = KEYS[5]
local id = ARGV[1]
local owner = ARGV[2]
local prefix = ARGV[3]
local place = ARGV[4]
local other_queue = ARGV[5]
local after = tonumber(ARGV[6])
local waited_for = tonumber(ARGV[7])
local alone = tonumber(ARGV[8])
local alone_once_found = tonumber(ARGV[9])
local explains = tonumber(ARGV[10])
local ttl = ARGV[11]
local unsuspected = ARGV[12]
may('EXPIRE', 'HMGET', 'HSET', 'ZADD', 'ZRANGE', 'ZREM', 'ZREVRANGE', 'ZSCORE')
local f = redis.call('HMGET', task, 'owner', 'crashes', 'counted', 'longest')
if f[1] ~= owner then
  return {0, 0, 0}
end
local now = server_time()
if interrupted_before ~= interrupted_set then
  local crashed = redis.call('ZSCORE', interrupted_before, id)
  if crashed then
    redis.call('ZADD', interrupted_set, crashed, id)
    redis.call('EXPIRE', interrupted_set, ttl)
    redis.call('ZREM', interrupted_before, id)
  end
end
if unsuspected == '1' or tonumber(f[2] or '0') < after then
  return {1, 0, 0}
end
local counted, longest = tonumber(f[3] or '0'), tonumber(f[4] or '0')
local s = redis.call('HMGET', suspect, 'id', 'owner', 'since', 'longest', 'found', 'said')
local open, in_hand, suspects = interrupted(interrupted_set, prefix, after, id, now - waited_for)
local say = s[6] and 0 or suspects
redis.call('HSET', suspect, 'said', '1')
redis.call('EXPIRE', suspect, ttl)
redis.call('EXPIRE', interrupted_set, ttl)
local found = s[5] and now - tonumber(s[5]) < explains
local function alone_for(lasted)
  return found and math.min(math.max(alone_once_found, 2 * lasted), alone) or alone
end
if s[1] and s[1] ~= id then
  local other = redis.call('HMGET', prefix .. s[1], 'owner', 'alone')
  local held = other[1] and other[1] == s[2] and other[2] == s[2]
  if held and (now - tonumber(s[3])) * 1000 < alone_for(tonumber(s[4])) then
    return {2, say, 0}
  end
end
local first = redis.call('ZRANGE', set_aside, 0, 0, 'WITHSCORES')
if first[1] and first[1] ~= id and tonumber(first[2]) < tonumber(place) then
  return {3, say, 0}
end
if open > 0 or other_queue == '1' or counted > 0 and in_hand > 0 then
  return {4, say, 0}
end
redis.call('HSET', suspect, 'id', id, 'owner', owner, 'since', string.format('%.3f', now), 'longest', longest,
  'shared', counted == 0 and in_hand > 0 and '1' or '0')
redis.call('HSET', task, 'alone', owner)
redis.call('ZADD', interrupted_set, string.format('%.3f', now), id)
return {1, say, math.ceil(alone_for(longest))}
