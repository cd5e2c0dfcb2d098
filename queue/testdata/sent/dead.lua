local function leave(task, active, lease, id, owner)
  if redis.call('HGET', task, 'owner') ~= owner then
    return false
  end
  redis.call('LREM', active, 1, id)
  redis.call('ZREM', lease, id)
  redis.call('HDEL', task, 'owner')
  return true
end
local function count(day, total, expire_at)
  if redis.pcall('INCR', day) == 1 then
    redis.pcall('EXPIREAT', day, expire_at)
  end
  redis.pcall('INCR', total)
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
local function keep(set, score, id, most, prefix)
  local kept = true
  redis.call('ZADD', set, score, id)
  local size = redis.call('ZCARD', set)
  if size == 1 then
    local long = string.rep('-', 65)
    redis.call('ZADD', set, 0, long)
    redis.call('ZREM', set, long)
  end
  local over = math.min(size - most, 1000)
  if over > 0 then
    local oldest = redis.call('ZPOPMIN', set, over)
    for i = 1, #oldest, 2 do
      redis.call('DEL', prefix .. oldest[i])
      kept = kept and oldest[i] ~= id
    end
  end
  return kept
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
local archived = KEYS[4]
local idempotency = KEYS[5]
local processed_today = KEYS[6]
local processed = KEYS[7]
local failed_today = KEYS[8]
local failed = KEYS[9]
local running = KEYS[10]
local parked = KEYS[11]
local scheduled = KEYS[12]
local pending = KEYS[13]
local doorbell = KEYS[14]
local id = ARGV[1]
local owner = ARGV[2]
local now_seconds = ARGV[3]
local reason = ARGV[4]
local most_kept = tonumber(ARGV[5])
local prefix = ARGV[6]
local counters_end = ARGV[7]
local ring = ARGV[8]
local now = ARGV[9]
may('DEL', 'EXISTS', 'HDEL', 'HGET', 'HINCRBY', 'HMGET', 'HSET', 'LREM', 'RPUSH', 'SREM', 'ZADD', 'ZCARD', 'ZPOPMIN', 'ZREM')
if not leave(task, active, leases, id, owner) then
  return {0}
end
local released = release_run(task, id, running, parked, scheduled, pending, prefix)
local f = redis.call('HMGET', task, 'key', 'run')
free_key(idempotency, f[1], id)
unlist(idempotency, f[2], id)
redis.call('HSET', task, 'state', 'archived', 'reason', reason, 'ended', now)
redis.call('HINCRBY', task, 'failed', 1)
keep(archived, now_seconds, id, most_kept, prefix)
count(processed_today, processed, counters_end)
count(failed_today, failed, counters_end)
if released then
  redis.pcall('PUBLISH', doorbell, ring)
end
return {1, released and 1 or 0}
