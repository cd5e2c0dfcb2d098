-- dead: sets a message aside that cannot be delivered, and frees its idempotency key.
-- KEYS: task active leases archived idempotency processed_today processed failed_today failed running parked scheduled pending doorbell
-- ARGV: id owner now_seconds reason most_kept prefix counters_end ring now
-- REPLY: {1, 1 if another message is pending now} set aside; {0} another process has the message
-- $include lib/leave.lua
-- $include lib/count.lua
-- $include lib/free_key.lua
-- $include lib/unlist.lua
-- $include lib/keep.lua
-- $include lib/release_run.lua
-- $include lib/may.lua
local task = KEYS[1]
local active = KEYS[2]
local leases = KEYS[3]
local archived = KEYS[4]
local idempotency = KEYS[5] -- hash: idempotency key -> message id
local processed_today = KEYS[6] -- asynq's counters
local processed = KEYS[7]
local failed_today = KEYS[8]
local failed = KEYS[9]
local running = KEYS[10] -- hash: run -> wake-up being delivered
local parked = KEYS[11] -- hash: run -> wake-up parked until that has ended
local scheduled = KEYS[12]
local pending = KEYS[13]
local doorbell = KEYS[14]
local id = ARGV[1]
local owner = ARGV[2] -- token of the lease
local now_seconds = ARGV[3]
local reason = ARGV[4] -- for people
local most_kept = tonumber(ARGV[5]) -- dead messages
local prefix = ARGV[6] -- of task keys
local counters_end = ARGV[7] -- those of the day, in seconds
local ring = ARGV[8] -- what to publish on the doorbell
local now = ARGV[9] -- in ms

may('DEL', 'EXISTS', 'HDEL', 'HGET', 'HINCRBY', 'HMGET', 'HSET', 'LREM', 'RPUSH', 'SREM', 'ZADD', 'ZCARD', 'ZPOPMIN', 'ZREM')

if not leave(task, active, leases, id, owner) then
  return {0}
end
local released = release_run(task, id, running, parked, scheduled, pending, prefix)
local f = redis.call('HMGET', task, 'key', 'run')
free_key(idempotency, f[1], id)
unlist(idempotency, f[2], id)
redis.call('HSET', task, 'state', 'archived', 'reason', reason, 'ended', now)
redis.call('HINCRBY', task, 'failed', 1)
keep(archived, now_seconds, id, most_kept, prefix)
count(processed_today, processed, counters_end)
count(failed_today, failed, counters_end)
if released then
  redis.pcall('PUBLISH', doorbell, ring)
end
return {1, released and 1 or 0}
