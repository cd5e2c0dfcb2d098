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
  if ARGV[6] ~= '0' then
    redis.call('SET', KEYS[5], id, 'PX', ARGV[6])
  end
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
  redis.call('SADD', KEYS[8], ARGV[1])
end
if ARGV[5] ~= '' then
  redis.call('HSET', KEYS[4], ARGV[5], ARGV[1])
end
remember(ARGV[1])
if ARGV[4] ~= '' then
  redis.call('ZADD', KEYS[3], ARGV[4], ARGV[1])
  redis.pcall('PUBLISH', KEYS[6], ARGV[8])
else
  -- Who found the list empty listens to the bell; who did not looks again by itself.
  if redis.call('LPUSH', KEYS[2], ARGV[1]) == 1 and ARGV[8] ~= '' then
    redis.pcall('PUBLISH', KEYS[6], ARGV[8])
  end
end
return {0, ARGV[1]}
