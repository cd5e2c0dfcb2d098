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
local function runs_alone(task, id, run, k, prefix, now, since, park_until)
  local mark = redis.call('HGET', k.running, run)
  local held = false
  if mark then
    local holder, started = string.match(mark, '^(%S+) (%d+)$')
    held = holder and tonumber(started) >= since and redis.call('HGET', prefix .. holder, 'state') == 'active'
  end
  local rests = not held and redis.call('EXISTS', own_key(k.running, 'resting:' .. run)) == 1
  if held or rests then
    local other = redis.call('HGET', k.parked, run)
    if other and other ~= id and redis.call('HGET', prefix .. other, 'parked') then
      local wait = redis.call('HGET', task, 'wait')
      if wait and redis.call('HGET', k.waiting, wait) == id then
        redis.call('HDEL', k.waiting, wait)
      end
      drop(task, id, k.running)
      return false
    end
    redis.call('HSET', task, 'state', 'scheduled', 'parked', '1')
    redis.call('HDEL', task, 'pending_since')
    redis.call('ZADD', k.scheduled, rests and string.format('%.3f', now / 1000 + 2) or park_until, id)
    redis.call('HSET', k.parked, run, id)
    return false
  end
  redis.call('HSET', k.running, run, id .. ' ' .. now)
  return true
end
local function server_time()
  local t = redis.call('TIME')
  return tonumber(t[1]) + tonumber(t[2]) / 1000000
end
local pending = KEYS[1]
local paused = KEYS[2]
local active = KEYS[3]
local leases = KEYS[4]
local stalled = KEYS[5]
local registrations = KEYS[6]
local waiting = KEYS[7]
local running = KEYS[8]
local parked = KEYS[9]
local scheduled = KEYS[10]
local delayed = KEYS[11]
local prefix = ARGV[1]
local owner = ARGV[2]
local most = tonumber(ARGV[3])
local lease_time = tonumber(ARGV[4])
local now = ARGV[5]
local alone_since = tonumber(ARGV[6])
local park_until = ARGV[7]
local answer_by = ARGV[8]
if answer_by ~= '' and server_time() > tonumber(answer_by) then
  return {-1}
end
local hashes = {waiting = waiting, running = running, parked = parked, scheduled = scheduled}
local wakes = redis.call('GET', registrations) or '0'
if redis.call('EXISTS', paused) == 1 then
  return {0, wakes}
end
local reply = {0, wakes}
local taken, looked = 0, 0
local clock
while taken < most and looked < 80 do
  looked = looked + 1
  local id = redis.call('RPOPLPUSH', pending, active)
  if not id then
    break
  end
  local task = prefix .. id
  local fields = redis.call('HMGET', task, 'msg', 'failed', 'moved', 'stalled', 'solo', 'wait', 'begun', 'app', 'hold', 'crowded', 'pending_since', 'lead')
  local solo, wait = fields[5], fields[6]
  if fields[4] then
    redis.call('HDEL', task, 'stalled')
    redis.call('SREM', stalled, id)
  end
  if fields[10] then
    redis.call('HDEL', task, 'crowded')
    redis.call('ZREM', fields[10], id)
  end
  if solo and redis.call('HGET', delayed, solo) == id then
    redis.call('HDEL', delayed, solo)
  end
  if fields[1] and (not solo or runs_alone(task, id, solo, hashes, prefix, now, alone_since, park_until)) then
    if wait and redis.call('HGET', waiting, wait) == id then
      redis.call('HDEL', waiting, wait)
    end
    if fields[12] then
      redis.call('HSET', running, fields[12], id .. ' ' .. now)
    end
    clock = clock or server_time()
    redis.call('ZADD', leases, string.format('%.3f', clock + lease_time), id)
    redis.call('HSET', task, 'state', 'active', 'owner', owner, 'begun', fields[7] and 'before' or 'now')
    redis.call('HDEL', task, 'pending_since')
    taken = taken + 1
    reply[#reply + 1] = id
    reply[#reply + 1] = fields[1]
    local failed, moved = fields[2] or '0', fields[3] or '0'
    if fields[7] and failed == '0' and moved == '0' then
      moved = '1'
    end
    reply[#reply + 1] = failed
    reply[#reply + 1] = moved
    reply[#reply + 1] = fields[11] or now .. '000000'
    reply[#reply + 1] = fields[8] or ''
    local hold = 0
    if fields[9] then
      redis.call('HDEL', task, 'hold')
      hold = math.max(0, math.ceil((tonumber(fields[9]) - clock) * 1000))
    end
    reply[#reply + 1] = tostring(hold)
  else
    redis.call('LREM', active, 1, id)
  end
end
reply[1] = redis.call('LLEN', pending)
return reply
