-- lost_answer: puts the messages of claims back whose answer was lost, as when their leases lapse. No app has seen them. It is safe
-- to run twice, and if such a claim was never carried out.
-- KEYS: pending active leases scheduled doorbell running parked
-- ARGV: prefix now_ns ring look_from skip
--       then the owner token of each such claim
-- REPLY: {messages put back, look_from and skip of the next call; '' and 0: there are no more}
-- It looks at 500 leases, one call each, and puts back 40 messages, with 16 calls each, at most.
-- $include lib/give_back.lua
-- $include lib/may.lua
local pending = KEYS[1]
local active = KEYS[2]
local leases = KEYS[3]
local scheduled = KEYS[4]
local doorbell = KEYS[5]
local running = KEYS[6] -- hash: run -> wake-up being delivered
local parked = KEYS[7] -- hash: run -> wake-up parked until that has ended
local prefix = ARGV[1] -- of task keys
local now_ns = ARGV[2]
local ring = ARGV[3] -- what to publish on the doorbell
local look_from = ARGV[4] -- end of the first lease to look at; a lease that is renewed meanwhile only moves to a later place
local skip = tonumber(ARGV[5]) -- how many leases with that end to skip

local MOST_LOOKED, MOST_RECOVERED = 500, 40
may('DEL', 'EXISTS', 'HDEL', 'HGET', 'HMGET', 'HSET', 'LREM', 'RPUSH', 'SREM', 'ZRANGEBYSCORE', 'ZREM')
local lost = {}
for i = 6, #ARGV do
  lost[ARGV[i]] = true
end
local found = redis.call('ZRANGEBYSCORE', leases, look_from, '+inf', 'WITHSCORES', 'LIMIT', skip, MOST_LOOKED)
local theirs, looked, last, tied = {}, 0, look_from, skip
while looked < #found / 2 and #theirs < MOST_RECOVERED do
  local id, lease_end = found[2 * looked + 1], found[2 * looked + 2]
  if lost[redis.call('HGET', prefix .. id, 'owner')] then
    theirs[#theirs + 1] = id
  elseif lease_end == last then
    tied = tied + 1
  else
    last, tied = lease_end, 1
  end
  looked = looked + 1
end
-- The message that was claimed first is put back last, so that it is claimed first again.
for i = #theirs, 1, -1 do
  local task = prefix .. theirs[i]
  if redis.call('HGET', task, 'begun') == 'now' then
    redis.call('HDEL', task, 'begun')
  end
  give_back(theirs[i], pending, active, leases, scheduled, running, parked, prefix, now_ns)
end
if #theirs > 0 then
  redis.pcall('PUBLISH', doorbell, ring)
end
if looked < MOST_LOOKED and #theirs < MOST_RECOVERED then
  return {#theirs, '', 0}
end
return {#theirs, last, tied}
