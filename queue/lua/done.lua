-- done: ends a message that was delivered. It removes the lease and the idempotency key, and the message too,
-- except for the last ones, which are kept for people to look at.
-- KEYS: task active leases idempotency processed_today processed running parked scheduled pending doorbell completed
-- ARGV: id owner counter_ends prefix ring now kept_until most_kept largest_kept
-- REPLY: {1, 1 if another message is pending now} done; {0} another process has the message
-- $include lib/count.lua
-- $include lib/free_key.lua
-- $include lib/unlist.lua
-- $include lib/keep.lua
-- $include lib/release_run.lua
local task = KEYS[1]
local active = KEYS[2]
local leases = KEYS[3]
local idempotency = KEYS[4] -- hash: idempotency key -> message id
local processed_today = KEYS[5] -- asynq's counters
local processed = KEYS[6]
local running = KEYS[7] -- hash: run -> wake-up being delivered
local parked = KEYS[8] -- hash: run -> wake-up parked until that has ended
local scheduled = KEYS[9]
local pending = KEYS[10]
local doorbell = KEYS[11]
local completed = KEYS[12]
local id = ARGV[1]
local owner = ARGV[2] -- token of the lease
local counter_ends = ARGV[3] -- that of the day, in seconds
local prefix = ARGV[4] -- of task keys
local ring = ARGV[5] -- what to publish on the doorbell
local now = ARGV[6] -- in ms
local kept_until = ARGV[7] -- in seconds
local most_kept = tonumber(ARGV[8]) -- completed messages
local largest_kept = tonumber(ARGV[9]) -- completed message, in bytes

local f = redis.call('HMGET', task, 'owner', 'solo', 'key', 'run', 'lead')
if f[1] ~= owner then
  return {0}
end
-- The owner changes last, so the call can be repeated if Redis refuses one of these commands. If it is not repeated,
-- the sweep puts the message back, because it has no lease.
redis.call('HSET', task, 'ended', now)
redis.call('ZREM', leases, id)
local released = (f[2] or f[5]) and release_run(task, id, running, parked, scheduled, pending, prefix)
free_key(idempotency, f[3], id)
unlist(idempotency, f[4], id)
if redis.call('HSTRLEN', task, 'msg') > largest_kept then
  redis.call('DEL', doorbell) -- deletes nothing, for no key has this name: if Redis refuses DEL, the script stops here, before it writes
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
