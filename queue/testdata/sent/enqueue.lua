local task = KEYS[1]
local pending = KEYS[2]
local scheduled = KEYS[3]
local idempotency = KEYS[4]
local request = KEYS[5]
local doorbell = KEYS[6]
local waiting = KEYS[7]
local run_messages = KEYS[8]
local id = ARGV[1]
local message = ARGV[2]
local now = ARGV[3]
local due = ARGV[4]
local key_field = ARGV[5]
local remember_for = ARGV[6]
local prefix = ARGV[7]
local ring = ARGV[8]
local wait_field = ARGV[9]
local solo = ARGV[10]
local run = ARGV[11]
local lead = ARGV[12]
local function remember(holder)
  return remember_for == '0' and {} or redis.pcall('SET', request, holder, 'PX', remember_for)
end
local function undo(refusal)
  redis.call('DEL', task, request)
  redis.pcall('SREM', run_messages, id)
  for key, field in pairs({[idempotency] = key_field, [waiting] = wait_field}) do
    if field ~= '' and redis.call('HGET', key, field) == id then
      redis.call('HDEL', key, field)
    end
  end
  return refusal
end
if remember_for ~= '0' then
  local earlier = redis.call('GET', request)
  if earlier then
    return {1, earlier}
  end
end
if redis.call('EXISTS', task) == 1 then
  return {0, id}
end
if key_field ~= '' then
  local holder = redis.call('HGET', idempotency, key_field)
  if holder then
    local state = redis.call('HGET', prefix .. holder, 'state')
    if state and state ~= 'archived' and state ~= 'completed' then
      remember(holder)
      return {1, holder}
    end
  end
end
if wait_field ~= '' and due == '' then
  local another = redis.call('HGET', waiting, wait_field)
  if another then
    local fields = redis.call('HMGET', prefix .. another, 'state', 'parked')
    if fields[1] == 'pending' or fields[2] then
      remember(another)
      return {1, another}
    end
  end
  redis.call('HSET', waiting, wait_field, id)
end
local fields = {'msg', message}
local function field(name, value)
  if value ~= '' then
    fields[#fields + 1] = name
    fields[#fields + 1] = value
  end
end
field('wait', wait_field)
field('solo', solo)
field('lead', lead)
field('key', key_field)
field('run', run)
field('state', due ~= '' and 'scheduled' or 'pending')
field('pending_since', due == '' and now or '')
redis.call('HSET', task, unpack(fields))
if run ~= '' then
  local listed = redis.pcall('SADD', run_messages, id)
  if type(listed) == 'table' and listed.err then
    return undo(listed)
  end
end
if key_field ~= '' then
  redis.call('HSET', idempotency, key_field, id)
end
local remembered = remember(id)
if remembered.err then
  return undo(remembered)
end
local placed
if due ~= '' then
  placed = redis.pcall('ZADD', scheduled, due, id)
else
  placed = redis.pcall('LPUSH', pending, id)
end
if type(placed) == 'table' then
  return undo(placed)
end
if due ~= '' or (placed == 1 and ring ~= '') then
  redis.pcall('PUBLISH', doorbell, ring)
end
return {0, id}
