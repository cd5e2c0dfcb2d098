-- requeue: puts a message back to be delivered again, now or later. It keeps its id and its
-- idempotency key.
-- KEYS: task active leases pending retry waiting_for_app registrations doorbell running parked scheduled delayed aside
-- ARGV: id owner due disposition reason registrations_seen place ring prefix unseen begun_at hold
-- REPLY: {1, 1 if a message is pending now} put back, or dropped because an earlier wake-up of the run is delayed too or the run
--         has ended; {0} another process has the message
-- $include lib/leave.lua
-- $include lib/drop.lua
-- $include lib/release_run.lua
-- $include lib/server_time.lua
-- $include lib/may.lua
local task = KEYS[1]
local active = KEYS[2]
local leases = KEYS[3]
local pending = KEYS[4]
local retry = KEYS[5]
local waiting_for_app = KEYS[6] -- set: messages that wait for an app
local registrations = KEYS[7] -- counter of registrations that made these due
local doorbell = KEYS[8]
local running = KEYS[9] -- hash: run -> wake-up being delivered
local parked = KEYS[10] -- hash: run -> wake-up parked until that has ended
local scheduled = KEYS[11]
local delayed = KEYS[12] -- hash: run -> its delayed wake-up
local aside = KEYS[13] -- zset: messages set aside for a throttled app, or suspects of an app until it is their turn
local id = ARGV[1]
local owner = ARGV[2] -- token of the lease
local due = ARGV[3] -- in seconds with three decimals; empty: now
-- disposition: failed (charged), moved (rescheduled by the app), stalled (waits for an app; a registration brings it forward), crowded
-- (throttled: its app has too many deliveries; the end of one brings it forward), apart (a suspect that waits for its turn; the end of
-- another one's turn brings it forward), or returned (released without a delivery; goes first)
local disposition = ARGV[4]
local reason = ARGV[5] -- for people
local registrations_seen = ARGV[6] -- the counter when the message was claimed
local place = ARGV[7] -- now, in ns; of a suspect: its place among the suspects
local ring = ARGV[8] -- what to publish on the doorbell
local prefix = ARGV[9] -- of task keys
local unseen = ARGV[10] -- 1 if it is certain that the app has seen nothing of the message
local begun_at = ARGV[11] -- app that perhaps works on it, which the next delivery prefers; empty: none
local hold = ARGV[12] -- how long the next delivery waits until that app has noticed the end of this one, in ms; 0: not at all

may('DEL', 'EXISTS', 'GET', 'HDEL', 'HGET', 'HINCRBY', 'HMGET', 'HSET', 'LPUSH',
  'LREM', 'RPUSH', 'SADD', 'SREM', 'TIME', 'ZADD', 'ZREM', 'ZSCORE')

if not leave(task, active, leases, id, owner) then
  return {0}
end
local released = release_run(task, id, running, parked, scheduled, pending, prefix)
-- ended rings the doorbell, after all other writes: another message is pending, and this one is due.
local function ended(rings, another)
  if released then
    redis.pcall('PUBLISH', doorbell, (string.gsub(ring, ' .*', '')))
  end
  if rings then
    redis.pcall('PUBLISH', doorbell, ring)
  end
  return {1, (another or released) and 1 or 0}
end
if redis.call('HGET', task, 'over') then -- the run ended meanwhile
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
if disposition == 'failed' then
  redis.call('HINCRBY', task, 'failed', 1)
elseif disposition == 'moved' then
  redis.call('HINCRBY', task, 'moved', 1)
  -- The delivery of a wake-up schedules the next one for whatever the run still waits for, so of
  -- several delayed wake-ups the earliest is enough.
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
elseif disposition == 'stalled' then
  if (redis.call('GET', registrations) or '0') ~= registrations_seen then
    due = '' -- an app registered meanwhile
  else
    redis.call('HSET', task, 'stalled', '1')
    redis.call('SADD', waiting_for_app, id)
  end
end
if disposition == 'crowded' or disposition == 'apart' then
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
if disposition == 'returned' then
  length = redis.call('RPUSH', pending, id)
else
  length = redis.call('LPUSH', pending, id)
end
return ended(length == 1, true)
