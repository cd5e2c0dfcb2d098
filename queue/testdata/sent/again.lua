local function leave(task, active, lease, id, owner)
  if redis.call('HGET', task, 'owner') ~= owner then
    return false
  end
  redis.call('LREM', active, 1, id)
  redis.call('ZREM', lease, id)
  redis.call('HDEL', task, 'owner')
  return true
end
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
local function release_run(task, id, running, parked, scheduled, pending, prefix)
  local f = redis.call('HMGET', task, 'solo', 'lead')
  local run = f[1] or f[2]
  if not run then
    return false
  end
  local mark = redis.call('HGET', running, run)
  if not mark or string.sub(mark, 1, #id + 1) ~= id .. ' ' then
    return false
  end
  redis.call('HDEL', running, run)
  local next_id = redis.call('HGET', parked, run)
  if not next_id or redis.call('EXISTS', own_key(running, 'resting:' .. run)) == 1 then
    return false
  end
  redis.call('HDEL', parked, run)
  if redis.call('HDEL', prefix .. next_id, 'parked') == 0 then
    return false
  end
  redis.call('RPUSH', pending, next_id)
  redis.call('HSET', prefix .. next_id, 'state', 'pending')
  redis.call('ZREM', scheduled, next_id)
  return true
end
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
local active = KEYS[2]
local leases = KEYS[3]
local pending = KEYS[4]
local retry = KEYS[5]
local stalled = KEYS[6]
local registrations = KEYS[7]
local doorbell = KEYS[8]
local running = KEYS[9]
local parked = KEYS[10]
local scheduled = KEYS[11]
local delayed = KEYS[12]
local aside = KEYS[13]
local id = ARGV[1]
local owner = ARGV[2]
local due = ARGV[3]
local why = ARGV[4]
local reason = ARGV[5]
local registrations_seen = ARGV[6]
local place = ARGV[7]
local ring = ARGV[8]
local prefix = ARGV[9]
local unseen = ARGV[10]
local begun_at = ARGV[11]
local hold = ARGV[12]
may('DEL', 'EXISTS', 'GET', 'HDEL', 'HGET', 'HINCRBY', 'HMGET', 'HSET', 'LPUSH',
  'LREM', 'RPUSH', 'SADD', 'SREM', 'TIME', 'ZADD', 'ZREM', 'ZSCORE')
if not leave(task, active, leases, id, owner) then
  return {0}
end
local released = release_run(task, id, running, parked, scheduled, pending, prefix)
local function ended(rings, another)
  if released then
    redis.pcall('PUBLISH', doorbell, (string.gsub(ring, ' .*', '')))
  end
  if rings then
    redis.pcall('PUBLISH', doorbell, ring)
  end
  return {1, (another or released) and 1 or 0}
end
if redis.call('HGET', task, 'over') then
  drop(task, id, running)
  return ended(false, false)
end
if unseen == '1' and redis.call('HGET', task, 'begun') == 'now' then
  redis.call('HDEL', task, 'begun')
end
if begun_at == '' then
  redis.call('HDEL', task, 'app')
else
  redis.call('HSET', task, 'app', begun_at)
end
if hold ~= '0' then
  redis.call('HSET', task, 'hold', string.format('%.3f', server_time() + tonumber(hold) / 1000))
end
if why == 'failed' then
  redis.call('HINCRBY', task, 'failed', 1)
elseif why == 'moved' then
  redis.call('HINCRBY', task, 'moved', 1)
  local run = redis.call('HGET', task, 'solo')
  if run and due ~= '' then
    local other = redis.call('HGET', delayed, run)
    local other_due = other and redis.call('ZSCORE', retry, other)
    if other_due and tonumber(other_due) <= tonumber(due) then
      drop(task, id, running)
      return ended(false, false)
    end
    if other_due then
      redis.call('ZREM', retry, other)
      drop(prefix .. other, other, running)
    end
    redis.call('HSET', delayed, run, id)
  end
elseif why == 'stalled' then
  if (redis.call('GET', registrations) or '0') ~= registrations_seen then
    due = ''
  else
    redis.call('HSET', task, 'stalled', '1')
    redis.call('SADD', stalled, id)
  end
end
if why == 'crowded' or why == 'apart' then
  redis.call('ZADD', aside, 'NX', place, id)
  redis.call('HSET', task, 'crowded', aside)
end
if reason ~= '' then
  redis.call('HSET', task, 'reason', reason)
end
if due ~= '' then
  redis.call('HSET', task, 'state', 'retry')
  redis.call('ZADD', retry, due, id)
  return ended(true, false)
end
redis.call('HSET', task, 'state', 'pending', 'pending_since', place)
local length
if why == 'returned' then
  length = redis.call('RPUSH', pending, id)
else
  length = redis.call('LPUSH', pending, id)
end
return ended(length == 1, true)
