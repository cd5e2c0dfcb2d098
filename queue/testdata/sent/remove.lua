local function free_key(keys, field, id)
  if field and redis.call('HGET', keys, field) == id then
    redis.call('HDEL', keys, field)
  end
end
local function own_key(sibling, name)
  return (string.gsub(sibling, '[^:]*$', '')) .. name
end
local function unlist(sibling, run, id)
  if run then
    redis.call('SREM', own_key(sibling, 'of:' .. run), id)
  end
end
local function drop(task, id, sibling)
  local f = redis.call('HMGET', task, 'key', 'run')
  free_key(own_key(sibling, 'idempotency'), f[1], id)
  unlist(sibling, f[2], id)
  redis.call('DEL', task)
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
local pending = KEYS[2]
local scheduled = KEYS[3]
local retry = KEYS[4]
local archived = KEYS[5]
local completed = KEYS[6]
local stalled = KEYS[7]
local waiting = KEYS[8]
local parked = KEYS[9]
local delayed = KEYS[10]
local id = ARGV[1]
local longest_searched = tonumber(ARGV[2])
may('DEL', 'HDEL', 'HGET', 'HMGET', 'HSET', 'LLEN', 'LREM', 'SREM', 'ZREM')
local function forget_field(hash, field)
  if field and redis.call('HGET', hash, field) == id then
    redis.call('HDEL', hash, field)
  end
end
local f = redis.call('HMGET', task, 'state', 'solo', 'wait', 'crowded')
local state = f[1]
if not state then
  return {2}
end
if state == 'active' then
  redis.call('HSET', task, 'over', '1')
  return {1}
end
if state == 'pending' and redis.call('LLEN', pending) <= longest_searched then
  redis.call('LREM', pending, -1, id)
end
for _, set in ipairs({scheduled, retry, archived, completed}) do
  redis.call('ZREM', set, id)
end
redis.call('SREM', stalled, id)
if f[4] then
  redis.call('ZREM', f[4], id)
end
forget_field(waiting, f[3])
forget_field(parked, f[2])
forget_field(delayed, f[2])
drop(task, id, waiting)
return {0}
