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
local task = KEYS[1]
local active = KEYS[2]
local leases = KEYS[3]
local idempotency = KEYS[4]
local processed_today = KEYS[5]
local processed = KEYS[6]
local running = KEYS[7]
local parked = KEYS[8]
local scheduled = KEYS[9]
local pending = KEYS[10]
local doorbell = KEYS[11]
local completed = KEYS[12]
local id = ARGV[1]
local owner = ARGV[2]
local counter_ends = ARGV[3]
local prefix = ARGV[4]
local ring = ARGV[5]
local now = ARGV[6]
local kept_until = ARGV[7]
local most_kept = tonumber(ARGV[8])
local largest_kept = tonumber(ARGV[9])
local f = redis.call('HMGET', task, 'owner', 'solo', 'key', 'run', 'lead')
if f[1] ~= owner then
  return {0}
end
redis.call('HSET', task, 'ended', now)
redis.call('ZREM', leases, id)
local released = (f[2] or f[5]) and release_run(task, id, running, parked, scheduled, pending, prefix)
free_key(idempotency, f[3], id)
unlist(idempotency, f[4], id)
if redis.call('HSTRLEN', task, 'msg') > largest_kept then
  redis.call('DEL', doorbell)
  redis.call('LREM', active, 1, id)
  redis.call('DEL', task)
else
  local kept = keep(completed, kept_until, id, most_kept, prefix)
  redis.call('LREM', active, 1, id)
  if kept then
    redis.call('HSET', task, 'state', 'completed', 'owner', '')
  end
end
count(processed_today, processed, counter_ends)
if released then
  redis.pcall('PUBLISH', doorbell, ring)
end
return {1, released and 1 or 0}
