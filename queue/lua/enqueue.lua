-- enqueue: adds a message, unless it is there already. All or nothing.
-- KEYS: task pending scheduled idempotency request doorbell waiting run_messages
-- ARGV: id message now due key_field remember_for prefix ring wait_field solo run lead
-- REPLY: {0, id} added; {1, id} that message is there already
local task = KEYS[1] -- of the new message
local pending = KEYS[2]
local scheduled = KEYS[3]
local idempotency = KEYS[4] -- hash: idempotency key -> message id
local request = KEYS[5] -- string: message id that this request id got before
local doorbell = KEYS[6]
local waiting = KEYS[7] -- hash: run and deployment -> wake-up that waits to be delivered now
local run_messages = KEYS[8] -- set: messages of the run that are not done or dead
local id = ARGV[1]
local message = ARGV[2] -- as asynq encodes it
local now = ARGV[3] -- in ns
local due = ARGV[4] -- in seconds with three decimals; empty: now
local key_field = ARGV[5] -- of the idempotency key; empty: none
local remember_for = ARGV[6] -- the request id, in ms; 0: there is none
local prefix = ARGV[7] -- of task keys
local ring = ARGV[8] -- what to publish on the doorbell; empty: nothing, because the caller claims the message in the same round trip
local wait_field = ARGV[9] -- of waiting, for a bare wake-up; empty: the message is none
local solo = ARGV[10] -- run whose deliveries must not overlap; empty: they may
local run = ARGV[11] -- that the message belongs to; empty: none
local lead = ARGV[12] -- run whose wake-ups wait for the delivery of this message, which is more than a wake-up; empty: none

local function remember(holder)
  return remember_for == '0' and {} or redis.pcall('SET', request, holder, 'PX', remember_for)
end

-- undo removes what was written of the message when Redis refuses the rest.
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
  -- The script that ends a message frees its key. The holder is checked nevertheless,
  -- for messages that somebody deletes by hand.
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
-- A worker that found the list empty listens to the bell; others look again without it.
if due ~= '' or (placed == 1 and ring ~= '') then
  redis.pcall('PUBLISH', doorbell, ring)
end
return {0, id}
