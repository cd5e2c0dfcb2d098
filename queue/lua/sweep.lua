-- sweep: the upkeep of one queue. It renews the caller's leases, recovers messages whose lease has
-- lapsed or that have none, and makes due messages pending. It is safe to run twice.
-- KEYS: pending active leases scheduled retry doorbell running parked
-- ARGV: prefix now lease_time recover_lapsed most_looked now_ns ring fill_to share look_from answer_by
--       then for each lease to renew: message id, owner token, and address of the app that it is being delivered to, or empty
-- REPLY: {messages pending, earliest due or '', active messages looked at, number of recovered messages,
--         Redis's clock in seconds, 1 if more are to be recovered, id of each recovered message ..., id of each lease that the caller has lost ...}
-- It makes at most 2,000 calls: three for each lease, of which the caller names 250 at most, 16 for each message that it recovers, and 6 for
-- each that is due. The rest is left for the next sweep.
-- $include lib/give_back.lua
-- $include lib/server_time.lua
-- $include lib/may.lua
local pending = KEYS[1]
local active = KEYS[2]
local leases = KEYS[3]
local scheduled = KEYS[4]
local retry = KEYS[5]
local doorbell = KEYS[6]
local running = KEYS[7] -- hash: run -> wake-up being delivered
local parked = KEYS[8] -- hash: run -> wake-up parked until that has ended
local prefix = ARGV[1] -- of task keys
local now = ARGV[2] -- in seconds with three decimals
local lease_time = tonumber(ARGV[3]) -- in seconds
local recover_lapsed = ARGV[4] -- 1: recover messages without a lease
local most_looked = tonumber(ARGV[5]) -- active messages to look at
local now_ns = ARGV[6]
local ring = ARGV[7] -- what to publish on the doorbell
local fill_to = tonumber(ARGV[8]) -- add due messages until the pending list is that long
local share = tonumber(ARGV[9]) -- how many due messages are added although it is that long
local look_from = tonumber(ARGV[10]) -- where in the active list to begin looking for messages without a lease
-- answer_by: until when the caller waits for the answer, by Redis's clock in seconds; empty: not known. After that no lease counts as
-- lapsed, because the owners could not renew theirs either
local answer_by = ARGV[11]

local MOST_RECOVERED, MOST_DUE = 40, 90
local lost = {}
local clock = server_time()
-- A queue without work: one command shows that, and only the clock is returned.
if #ARGV < 12 and redis.call('EXISTS', pending, active, leases, scheduled, retry) == 0 then
  return {0, '', 0, 0, string.format('%.3f', clock), 0}
end
may('DEL', 'EXISTS', 'HDEL', 'HGET', 'HMGET', 'HSET', 'LLEN', 'LPUSH', 'LRANGE',
  'LREM', 'RPUSH', 'SREM', 'ZADD', 'ZMSCORE', 'ZRANGE', 'ZRANGEBYSCORE', 'ZREM')
local lease_end = string.format('%.3f', clock + lease_time)
for i = 12, #ARGV, 3 do
  local id, owner, app = ARGV[i], ARGV[i + 1], ARGV[i + 2]
  if redis.call('HGET', prefix .. id, 'owner') == owner then
    redis.call('ZADD', leases, lease_end, id)
    if app ~= '' then
      redis.call('HSET', prefix .. id, 'app', app)
    end
  else
    lost[#lost + 1] = id
  end
end

local recovered, looked, more = {}, 0, 0
local function recover(id)
  if give_back(id, pending, active, leases, scheduled, running, parked, prefix, now_ns) then
    recovered[#recovered + 1] = id
  end
end

if recover_lapsed == '1' and (answer_by == '' or clock <= tonumber(answer_by)) then
  local first = redis.call('ZRANGE', leases, 0, 0, 'WITHSCORES')
  if first[2] and tonumber(first[2]) <= clock then
    local lapsed = redis.call('ZRANGEBYSCORE', leases, '-inf', string.format('%.3f', clock), 'LIMIT', 0, MOST_RECOVERED + 1)
    for i = 1, math.min(#lapsed, MOST_RECOVERED) do
      recover(lapsed[i])
    end
    more = #lapsed > MOST_RECOVERED and 1 or 0
  end
  -- An active message without a lease is caused by manual edits, data loss or a command that Redis refused.
  local members = redis.call('LRANGE', active, look_from, look_from + most_looked - 1)
  looked = #members
  if looked > 0 then
    local scores = redis.call('ZMSCORE', leases, unpack(members))
    for i, id in ipairs(members) do
      if not scores[i] then
        if #recovered >= MOST_RECOVERED then
          looked, more = i - 1, 1
          break
        end
        recover(id)
      end
    end
  end
end

local function make_pending(id)
  local task = prefix .. id
  local state = redis.call('HGET', task, 'state')
  if state ~= 'scheduled' and state ~= 'retry' then
    return -- it is gone, or in another list already
  end
  if redis.call('HDEL', task, 'parked') == 1 then
    local run = redis.call('HGET', task, 'solo')
    if run and redis.call('HGET', parked, run) == id then
      redis.call('HDEL', parked, run)
    end
  end
  redis.call('HSET', task, 'state', 'pending', 'pending_since', now_ns)
  redis.call('LPUSH', pending, id)
end

local function earliest_due()
  local earliest
  for _, set in ipairs({scheduled, retry}) do
    local first = redis.call('ZRANGE', set, 0, 0, 'WITHSCORES')
    if first[2] and (not earliest or tonumber(first[2]) < tonumber(earliest)) then
      earliest = first[2]
    end
  end
  return earliest
end

-- Due messages are added gradually, so that a new message never has many of them before it.
local made_pending, earliest = 0, earliest_due()
if earliest and tonumber(earliest) <= tonumber(now) then
  local room = math.min(math.max(fill_to - redis.call('LLEN', pending), share), MOST_DUE)
  local due = {}
  for _, set in ipairs({scheduled, retry}) do
    local found = redis.call('ZRANGEBYSCORE', set, '-inf', now, 'WITHSCORES', 'LIMIT', 0, room)
    for i = 1, #found, 2 do
      due[#due + 1] = {set, found[i], tonumber(found[i + 1])}
    end
  end
  table.sort(due, function(a, b) return a[3] < b[3] end)
  made_pending = math.min(#due, room)
  for i = 1, made_pending do
    redis.call('ZREM', due[i][1], due[i][2])
    make_pending(due[i][2])
  end
  earliest = earliest_due()
end
local reply = {redis.call('LLEN', pending), earliest or '', looked, #recovered, string.format('%.3f', clock), more}
for _, id in ipairs(recovered) do
  reply[#reply + 1] = id
end
for _, id in ipairs(lost) do
  reply[#reply + 1] = id
end
if made_pending + #recovered > 0 then
  redis.pcall('PUBLISH', doorbell, ring)
end
return reply
