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
local pending = KEYS[1]
local scheduled = KEYS[2]
local retry = KEYS[3]
local stalled = KEYS[4]
local waiting = KEYS[5]
local parked = KEYS[6]
local delayed = KEYS[7]
local prefix = ARGV[1]
local most = tonumber(ARGV[2])
local longest_searched = tonumber(ARGV[3])
local from = ARGV[4]
may('DEL', 'HDEL', 'HGET', 'HMGET', 'HSET', 'LLEN', 'LREM', 'SCARD', 'SREM', 'SSCAN', 'ZREM')
local search = redis.call('LLEN', pending) <= longest_searched
local function forget_field(hash, field, id)
  if field and redis.call('HGET', hash, field) == id then
    redis.call('HDEL', hash, field)
  end
end
local function forget(id, list)
  local task = prefix .. id
  local f = redis.call('HMGET', task, 'state', 'solo', 'wait', 'stalled', 'crowded')
  local state = f[1]
  if state == 'active' then
    redis.call('HSET', task, 'over', '1')
    return false
  end
  if not state or state == 'archived' or state == 'completed' then
    redis.call('SREM', list, id)
    return true
  end
  if state == 'scheduled' then
    redis.call('ZREM', scheduled, id)
    forget_field(parked, f[2], id)
  elseif state == 'retry' then
    redis.call('ZREM', retry, id)
    forget_field(delayed, f[2], id)
  elseif search then
    redis.call('LREM', pending, -1, id)
  end
  if f[4] then
    redis.call('SREM', stalled, id)
  end
  if f[5] then
    redis.call('ZREM', f[5], id)
  end
  forget_field(waiting, f[3], id)
  drop(task, id, waiting)
  return true
end
local looked = 0
local function forget_all(list, cursor)
  local removed, several = false, cursor ~= '0'
  while true do
    local page = redis.call('SSCAN', list, cursor, 'COUNT', 50)
    cursor = page[1]
    for _, id in ipairs(page[2]) do
      removed = forget(id, list) or removed
    end
    looked = looked + #page[2] + 1
    several = several or cursor ~= '0'
    if cursor == '0' then
      if not (several and removed) then
        return cursor
      end
      removed = false
    elseif looked >= most then
      return cursor
    end
  end
end
local reply, cursor = {0, '0'}, from
for i = 8, #KEYS do
  cursor = forget_all(KEYS[i], cursor)
  if cursor ~= '0' then
    reply[2] = cursor
    break
  end
  reply[1] = reply[1] + 1
  reply[#reply + 1] = redis.call('SCARD', KEYS[i])
  if looked >= most then
    break
  end
end
return reply
