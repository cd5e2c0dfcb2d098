-- Adds a message, unless it is here already. All or nothing.
--
-- KEYS[1] task hash of the new message
-- KEYS[2] pending list
-- KEYS[3] scheduled zset
-- KEYS[4] hash: idempotency key -> message id
-- KEYS[5] string: message id that this request id got before
-- KEYS[6] doorbell channel
-- KEYS[7] hash: run and deployment -> wake-up that waits to be delivered now
-- KEYS[8] set: messages of the run that are not done or dead
-- ARGV[1] message id
-- ARGV[2] message, as asynq encodes it
-- ARGV[3] now, in ns
-- ARGV[4] due, in seconds with three decimals; empty: now
-- ARGV[5] field of the idempotency key; empty: none
-- ARGV[6] how long to remember the request id, in ms; 0: there is none
-- ARGV[7] task key prefix
-- ARGV[8] what to say on the doorbell; empty: nothing, for a message that is now, since the caller takes it at once
-- ARGV[9] field of KEYS[7], for a bare wake-up; empty: the message is none
-- ARGV[10] run whose deliveries must not overlap; empty: they may
-- ARGV[11] run that the message belongs to; empty: none
-- ARGV[12] run whose wake-ups wait for the delivery of this message, which is more than one; empty: none
-- Reply: {0, id} added; {1, id} that message is here already
local function remember(id)
  return ARGV[6] == '0' and {} or redis.pcall('SET', KEYS[5], id, 'PX', ARGV[6])
end

-- undo takes back what is written of the message when Redis refuses the rest of it.
local function undo(refusal)
  redis.call('DEL', KEYS[1], KEYS[5])
  redis.pcall('SREM', KEYS[8], ARGV[1])
  for key, field in pairs({[KEYS[4]] = ARGV[5], [KEYS[7]] = ARGV[9]}) do
    if field ~= '' and redis.call('HGET', key, field) == ARGV[1] then
      redis.call('HDEL', key, field)
    end
  end
  return refusal
end

if ARGV[6] ~= '0' then
  local earlier = redis.call('GET', KEYS[5])
  if earlier then
    return {1, earlier}
  end
end
if redis.call('EXISTS', KEYS[1]) == 1 then
  return {0, ARGV[1]}
end
if ARGV[5] ~= '' then
  local holder = redis.call('HGET', KEYS[4], ARGV[5])
  -- A key is freed in the same script that ends its message. That the holder lives is
  -- looked up all the same, for messages that somebody deletes by hand.
  if holder then
    local state = redis.call('HGET', ARGV[7] .. holder, 'state')
    if state and state ~= 'archived' and state ~= 'completed' then
      remember(holder)
      return {1, holder}
    end
  end
end

if ARGV[9] ~= '' and ARGV[4] == '' then
  local waiting = redis.call('HGET', KEYS[7], ARGV[9])
  if waiting then
    local fields = redis.call('HMGET', ARGV[7] .. waiting, 'state', 'parked')
    if fields[1] == 'pending' or fields[2] then
      remember(waiting)
      return {1, waiting}
    end
  end
  redis.call('HSET', KEYS[7], ARGV[9], ARGV[1])
end

local fields = {'msg', ARGV[2]}
local function field(name, value)
  if value ~= '' then
    fields[#fields + 1] = name
    fields[#fields + 1] = value
  end
end
field('wait', ARGV[9])
field('solo', ARGV[10])
field('lead', ARGV[12])
field('key', ARGV[5])
field('run', ARGV[11])
field('state', ARGV[4] ~= '' and 'scheduled' or 'pending')
field('pending_since', ARGV[4] == '' and ARGV[3] or '')
redis.call('HSET', KEYS[1], unpack(fields))
if ARGV[11] ~= '' then
  local listed = redis.pcall('SADD', KEYS[8], ARGV[1])
  if type(listed) == 'table' and listed.err then
    return undo(listed)
  end
end
if ARGV[5] ~= '' then
  redis.call('HSET', KEYS[4], ARGV[5], ARGV[1])
end
local remembered = remember(ARGV[1])
if remembered.err then
  return undo(remembered)
end
local placed
if ARGV[4] ~= '' then
  placed = redis.pcall('ZADD', KEYS[3], ARGV[4], ARGV[1])
else
  placed = redis.pcall('LPUSH', KEYS[2], ARGV[1])
end
if type(placed) == 'table' then
  return undo(placed)
end
-- Who found the list empty listens to the bell; who did not looks again by itself.
if ARGV[4] ~= '' or (placed == 1 and ARGV[8] ~= '') then
  redis.pcall('PUBLISH', KEYS[6], ARGV[8])
end
return {0, ARGV[1]}
