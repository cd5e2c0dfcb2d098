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
local stalled = KEYS[1]
local retry = KEYS[2]
local registrations = KEYS[3]
local doorbell = KEYS[4]
local prefix = ARGV[1]
local most = tonumber(ARGV[2])
local now = ARGV[3]
local ring = ARGV[4]
may('HDEL', 'INCR', 'SCARD', 'SPOP', 'ZADD', 'ZSCORE')
redis.call('INCR', registrations)
local woken = 0
while woken < most do
  local id = redis.call('SPOP', stalled)
  if not id then
    break
  end
  woken = woken + 1
  if redis.call('ZSCORE', retry, id) then
    redis.call('HDEL', prefix .. id, 'stalled')
    redis.call('ZADD', retry, now, id)
  end
end
local left = redis.call('SCARD', stalled)
redis.pcall('PUBLISH', doorbell, ring)
return {left}
