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
local resting = KEYS[1]
local running = KEYS[2]
local parked = KEYS[3]
local scheduled = KEYS[4]
local pending = KEYS[5]
local doorbell = KEYS[6]
local run = ARGV[1]
local prefix = ARGV[2]
local now = ARGV[3]
local ring = ARGV[4]
may('DEL', 'HDEL', 'HEXISTS', 'HGET', 'HSET', 'RPUSH', 'ZREM')
redis.call('DEL', resting)
local id = redis.call('HGET', parked, run)
if not id or redis.call('HEXISTS', running, run) == 1 then
  return {0}
end
redis.call('HDEL', parked, run)
if redis.call('HDEL', prefix .. id, 'parked') == 0 then
  return {0}
end
redis.call('ZREM', scheduled, id)
redis.call('HSET', prefix .. id, 'state', 'pending', 'pending_since', now)
redis.call('RPUSH', pending, id)
redis.pcall('PUBLISH', doorbell, ring)
return {1}
