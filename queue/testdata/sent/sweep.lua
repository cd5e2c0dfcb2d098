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
local pending = KEYS[1]
local active = KEYS[2]
local leases = KEYS[3]
local scheduled = KEYS[4]
local retry = KEYS[5]
local doorbell = KEYS[6]
local running = KEYS[7]
local parked = KEYS[8]
local prefix = ARGV[1]
local now = ARGV[2]
local lease_time = tonumber(ARGV[3])
local return_lapsed = ARGV[4]
local most_looked = tonumber(ARGV[5])
local now_ns = ARGV[6]
local ring = ARGV[7]
local fill_to = tonumber(ARGV[8])
local share = tonumber(ARGV[9])
local look_from = tonumber(ARGV[10])
local answer_by = ARGV[11]
local MOST_RETURNED, MOST_DUE = 40, 90
local lost = {}
local clock = server_time()
if #ARGV < 12 and redis.call('EXISTS', pending, active, leases, scheduled, retry) == 0 then
  return {0, '', 0, 0, string.format('%.3f', clock), 0}
end
may('DEL', 'EXISTS', 'HDEL', 'HGET', 'HMGET', 'HSET', 'LLEN', 'LPUSH', 'LRANGE',
  'LREM', 'RPUSH', 'SREM', 'ZADD', 'ZMSCORE', 'ZRANGE', 'ZRANGEBYSCORE', 'ZREM')
local lease_end = string.format('%.3f', clock + lease_time)
for i = 12, #ARGV, 3 do
  local id, owner, app = ARGV[i], ARGV[i + 1], ARGV[i + 2]
  if redis.call('HGET', prefix .. id, 'owner') == owner then
    redis.call('ZADD', leases, lease_end, id)
    if app ~= '' then
      redis.call('HSET', prefix .. id, 'app', app)
    end
  else
    lost[#lost + 1] = id
  end
end
local returned, looked, more = {}, 0, 0
local function give_back(id)
  redis.call('LREM', active, 1, id)
  redis.call('ZREM', leases, id)
  local task = redis.call('HMGET', prefix .. id, 'state', 'over')
  local state = task[1]
  if state == 'completed' or state == 'archived' then
    return
  end
  returned[#returned + 1] = id
  if task[2] then
    release_run(prefix .. id, id, running, parked, scheduled, pending, prefix)
    drop(prefix .. id, id, running)
  elseif state then
    redis.call('HDEL', prefix .. id, 'owner', 'parked')
    release_run(prefix .. id, id, running, parked, scheduled, pending, prefix)
    redis.call('HSET', prefix .. id, 'state', 'pending', 'pending_since', now_ns)
    redis.call('RPUSH', pending, id)
  end
end
if return_lapsed == '1' and (answer_by == '' or clock <= tonumber(answer_by)) then
  local first = redis.call('ZRANGE', leases, 0, 0, 'WITHSCORES')
  if first[2] and tonumber(first[2]) <= clock then
    local lapsed = redis.call('ZRANGEBYSCORE', leases, '-inf', string.format('%.3f', clock), 'LIMIT', 0, MOST_RETURNED + 1)
    for i = 1, math.min(#lapsed, MOST_RETURNED) do
      give_back(lapsed[i])
    end
    more = #lapsed > MOST_RETURNED and 1 or 0
  end
  local members = redis.call('LRANGE', active, look_from, look_from + most_looked - 1)
  looked = #members
  if looked > 0 then
    local scores = redis.call('ZMSCORE', leases, unpack(members))
    for i, id in ipairs(members) do
      if not scores[i] then
        if #returned >= MOST_RETURNED then
          looked, more = i - 1, 1
          break
        end
        give_back(id)
      end
    end
  end
end
local function make_pending(id)
  local task = prefix .. id
  local state = redis.call('HGET', task, 'state')
  if state ~= 'scheduled' and state ~= 'retry' then
    return
  end
  if redis.call('HDEL', task, 'parked') == 1 then
    local run = redis.call('HGET', task, 'solo')
    if run and redis.call('HGET', parked, run) == id then
      redis.call('HDEL', parked, run)
    end
  end
  redis.call('HSET', task, 'state', 'pending', 'pending_since', now_ns)
  redis.call('LPUSH', pending, id)
end
local function earliest_due()
  local earliest
  for _, set in ipairs({scheduled, retry}) do
    local first = redis.call('ZRANGE', set, 0, 0, 'WITHSCORES')
    if first[2] and (not earliest or tonumber(first[2]) < tonumber(earliest)) then
      earliest = first[2]
    end
  end
  return earliest
end
local moved, earliest = 0, earliest_due()
if earliest and tonumber(earliest) <= tonumber(now) then
  local room = math.min(math.max(fill_to - redis.call('LLEN', pending), share), MOST_DUE)
  local due = {}
  for _, set in ipairs({scheduled, retry}) do
    local found = redis.call('ZRANGEBYSCORE', set, '-inf', now, 'WITHSCORES', 'LIMIT', 0, room)
    for i = 1, #found, 2 do
      due[#due + 1] = {set, found[i], tonumber(found[i + 1])}
    end
  end
  table.sort(due, function(a, b) return a[3] < b[3] end)
  moved = math.min(#due, room)
  for i = 1, moved do
    redis.call('ZREM', due[i][1], due[i][2])
    make_pending(due[i][2])
  end
  earliest = earliest_due()
end
local reply = {redis.call('LLEN', pending), earliest or '', looked, #returned, string.format('%.3f', clock), more}
for _, id in ipairs(returned) do
  reply[#reply + 1] = id
end
for _, id in ipairs(lost) do
  reply[#reply + 1] = id
end
if moved + #returned > 0 then
  redis.pcall('PUBLISH', doorbell, ring)
end
return reply
