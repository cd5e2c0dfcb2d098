-- Puts a message back to be delivered again, now or later; it keeps its id and its
-- idempotency key.
--
-- KEYS[1] task hash
-- KEYS[2] active list
-- KEYS[3] lease zset
-- KEYS[4] pending list
-- KEYS[5] retry zset
-- KEYS[6] stalled set
-- KEYS[7] counter of registrations that woke the stalled ones
-- KEYS[8] doorbell channel
-- KEYS[9] hash: run -> wake-up being delivered
-- KEYS[10] hash: run -> wake-up parked until that has ended
-- KEYS[11] scheduled zset
-- KEYS[12] hash: run -> its delayed wake-up
-- KEYS[13] zset: messages set aside for the crowded app, or suspects of an app until it is their turn
-- ARGV[1] message id
-- ARGV[2] owner token
-- ARGV[3] due, in seconds with three decimals; empty: now
-- ARGV[4] why: failed (charged), moved (the app asked), stalled (waits for an app;
--         a registration brings it forward), crowded (its app has too many deliveries in
--         work; the end of one brings it forward), apart (a suspect whose turn it is not yet; the
--         end of another one's turn brings it forward), or returned (undelivered; goes first)
-- ARGV[5] reason in words
-- ARGV[6] counter of registrations when the message was taken
-- ARGV[7] now, in ns; with apart: its place among the suspects
-- ARGV[8] what to say on the doorbell
-- ARGV[9] task key prefix
-- ARGV[10] 1 if it is certain that the app has seen nothing of the message
-- ARGV[11] app that has perhaps begun it and goes on, which the next delivery prefers; empty: none
-- ARGV[12] how long the next delivery waits for that app to notice the end of this one, in ms; 0: not at all
-- Reply: {1, 1 if a message is pending now} put back, or dropped because an earlier wake-up of the run is delayed too or the run has ended; {0} no longer the caller's
-- $include lib/leave.lua
-- $include lib/drop.lua
-- $include lib/release_run.lua
-- $include lib/server_time.lua
-- $include lib/may.lua

may('DEL', 'EXISTS', 'GET', 'HDEL', 'HGET', 'HINCRBY', 'HMGET', 'HSET', 'LPUSH',
  'LREM', 'RPUSH', 'SADD', 'SREM', 'TIME', 'ZADD', 'ZREM', 'ZSCORE')

if not leave(KEYS[1], KEYS[2], KEYS[3], ARGV[1], ARGV[2]) then
  return {0}
end
local released = release_run(KEYS[1], ARGV[1], KEYS[9], KEYS[10], KEYS[11], KEYS[4], ARGV[9])
-- ended says, after all else, that another message is pending, and when this one is due.
local function ended(rings, pending)
  if released then
    redis.pcall('PUBLISH', KEYS[8], (string.gsub(ARGV[8], ' .*', '')))
  end
  if rings then
    redis.pcall('PUBLISH', KEYS[8], ARGV[8])
  end
  return {1, (pending or released) and 1 or 0}
end
if redis.call('HGET', KEYS[1], 'over') then -- the run ended meanwhile
  drop(KEYS[1], ARGV[1], KEYS[9])
  return ended(false, false)
end
local due, why = ARGV[3], ARGV[4]
if ARGV[10] == '1' and redis.call('HGET', KEYS[1], 'begun') == 'now' then
  redis.call('HDEL', KEYS[1], 'begun')
end
if ARGV[11] == '' then
  redis.call('HDEL', KEYS[1], 'app')
else
  redis.call('HSET', KEYS[1], 'app', ARGV[11])
end
if ARGV[12] ~= '0' then
  redis.call('HSET', KEYS[1], 'hold', string.format('%.3f', server_time() + tonumber(ARGV[12]) / 1000))
end
if why == 'failed' then
  redis.call('HINCRBY', KEYS[1], 'failed', 1)
elseif why == 'moved' then
  redis.call('HINCRBY', KEYS[1], 'moved', 1)
  -- The delivery of a wake-up asks again for whatever the run still waits for, so of
  -- several delayed ones the earliest is enough.
  local run = redis.call('HGET', KEYS[1], 'solo')
  if run and due ~= '' then
    local other = redis.call('HGET', KEYS[12], run)
    local other_due = other and redis.call('ZSCORE', KEYS[5], other)
    if other_due and tonumber(other_due) <= tonumber(due) then
      drop(KEYS[1], ARGV[1], KEYS[9])
      return ended(false, false)
    end
    if other_due then
      redis.call('ZREM', KEYS[5], other)
      drop(ARGV[9] .. other, other, KEYS[9])
    end
    redis.call('HSET', KEYS[12], run, ARGV[1])
  end
elseif why == 'stalled' then
  if (redis.call('GET', KEYS[7]) or '0') ~= ARGV[6] then
    due = '' -- an app registered meanwhile
  else
    redis.call('HSET', KEYS[1], 'stalled', '1')
    redis.call('SADD', KEYS[6], ARGV[1])
  end
end
if why == 'crowded' or why == 'apart' then
  redis.call('ZADD', KEYS[13], 'NX', ARGV[7], ARGV[1])
  redis.call('HSET', KEYS[1], 'crowded', KEYS[13])
end
if ARGV[5] ~= '' then
  redis.call('HSET', KEYS[1], 'reason', ARGV[5])
end
if due ~= '' then
  redis.call('HSET', KEYS[1], 'state', 'retry')
  redis.call('ZADD', KEYS[5], due, ARGV[1])
  return ended(true, false)
end
redis.call('HSET', KEYS[1], 'state', 'pending', 'pending_since', ARGV[7])
local length
if why == 'returned' then
  length = redis.call('RPUSH', KEYS[4], ARGV[1])
else
  length = redis.call('LPUSH', KEYS[4], ARGV[1])
end
return ended(length == 1, true)
