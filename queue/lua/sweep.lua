-- The upkeep of one queue: renews the caller's leases, returns messages whose lease has
-- lapsed or that have none, and makes due ones pending. Run twice it does no harm.
--
-- KEYS[1] pending list
-- KEYS[2] active list
-- KEYS[3] lease zset
-- KEYS[4] scheduled zset
-- KEYS[5] retry zset
-- KEYS[6] doorbell channel
-- KEYS[7] hash: run -> wake-up being delivered
-- KEYS[8] hash: run -> wake-up parked until that has ended
-- ARGV[1] task key prefix
-- ARGV[2] now, in seconds with three decimals
-- ARGV[3] length of a lease, in seconds
-- ARGV[4] 1: return messages without a lease
-- ARGV[5] how many active ones to look at
-- ARGV[6] now, in ns
-- ARGV[7] what to say on the doorbell
-- ARGV[8] due messages fill the pending list up to this length
-- ARGV[9] how many due ones move although it is that long
-- ARGV[10] where in the active list to begin looking for messages without a lease
-- ARGV[11] until when the caller waits for the answer, by Redis's clock in seconds; empty: not known. After it nobody's leases have lapsed:
--          their owners had no chance to renew them either
-- ARGV[12...] message id, owner token, app of each lease to renew; app: address that it is being delivered to, or empty
-- Reply: {messages pending, earliest due or '', active ones looked at, number of returned ones,
--         Redis's clock in seconds, 1 if more are to be returned, id of each returned one ..., id of each lease that is no longer the caller's ...}
-- It makes at most 2,000 calls: three a lease, of which the caller names 250 at most, 16 for each message that it returns, and 6 for
-- each that is due. What is left is for the next time.
-- $include lib/drop.lua
-- $include lib/release_run.lua
-- $include lib/server_time.lua
-- $include lib/may.lua

local MOST_RETURNED, MOST_DUE = 40, 90
local prefix, now, most = ARGV[1], ARGV[2], tonumber(ARGV[5])
local lost = {}
local clock = server_time()
-- A queue without work: one look tells, and there is nothing to do but to show the clock.
if #ARGV < 12 and redis.call('EXISTS', KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]) == 0 then
  return {0, '', 0, 0, string.format('%.3f', clock), 0}
end
may('DEL', 'EXISTS', 'HDEL', 'HGET', 'HMGET', 'HSET', 'LLEN', 'LPUSH', 'LRANGE',
  'LREM', 'RPUSH', 'SREM', 'ZADD', 'ZMSCORE', 'ZRANGE', 'ZRANGEBYSCORE', 'ZREM')
local lease_end = string.format('%.3f', clock + tonumber(ARGV[3]))
for i = 12, #ARGV, 3 do
  local id, owner, app = ARGV[i], ARGV[i + 1], ARGV[i + 2]
  if redis.call('HGET', prefix .. id, 'owner') == owner then
    redis.call('ZADD', KEYS[3], lease_end, id)
    if app ~= '' then
      redis.call('HSET', prefix .. id, 'app', app)
    end
  else
    lost[#lost + 1] = id
  end
end

local returned, looked, more = {}, 0, 0
local function give_back(id)
  redis.call('LREM', KEYS[2], 1, id)
  redis.call('ZREM', KEYS[3], id)
  local task = redis.call('HMGET', prefix .. id, 'state', 'over')
  local state = task[1]
  if state == 'completed' or state == 'archived' then
    return -- it was taken off no list when it ended
  end
  returned[#returned + 1] = id
  if task[2] then -- its run ended meanwhile, or it was dropped by hand
    release_run(prefix .. id, id, KEYS[7], KEYS[8], KEYS[4], KEYS[1], prefix)
    drop(prefix .. id, id, KEYS[7])
  elseif state then
    redis.call('HDEL', prefix .. id, 'owner', 'parked')
    release_run(prefix .. id, id, KEYS[7], KEYS[8], KEYS[4], KEYS[1], prefix)
    redis.call('HSET', prefix .. id, 'state', 'pending', 'pending_since', ARGV[6])
    redis.call('RPUSH', KEYS[1], id)
  end
end

if ARGV[4] == '1' and (ARGV[11] == '' or clock <= tonumber(ARGV[11])) then
  local first = redis.call('ZRANGE', KEYS[3], 0, 0, 'WITHSCORES')
  if first[2] and tonumber(first[2]) <= clock then
    local lapsed = redis.call('ZRANGEBYSCORE', KEYS[3], '-inf', string.format('%.3f', clock), 'LIMIT', 0, MOST_RETURNED + 1)
    for i = 1, math.min(#lapsed, MOST_RETURNED) do
      give_back(lapsed[i])
    end
    more = #lapsed > MOST_RETURNED and 1 or 0
  end
  -- No script of ours makes one active without a lease; a hand, or a lost key, may.
  local from = tonumber(ARGV[10])
  local active = redis.call('LRANGE', KEYS[2], from, from + most - 1)
  looked = #active
  if looked > 0 then
    local scores = redis.call('ZMSCORE', KEYS[3], unpack(active))
    for i, id in ipairs(active) do
      if not scores[i] then
        if #returned >= MOST_RETURNED then
          looked, more = i - 1, 1
          break
        end
        give_back(id)
      end
    end
  end
end

local function make_pending(id)
  local task = prefix .. id
  local state = redis.call('HGET', task, 'state')
  if state ~= 'scheduled' and state ~= 'retry' then
    return -- it is gone, or is somewhere else already
  end
  if redis.call('HDEL', task, 'parked') == 1 then
    local run = redis.call('HGET', task, 'solo')
    if run and redis.call('HGET', KEYS[8], run) == id then
      redis.call('HDEL', KEYS[8], run)
    end
  end
  redis.call('HSET', task, 'state', 'pending', 'pending_since', ARGV[6])
  redis.call('LPUSH', KEYS[1], id)
end

local function earliest_due()
  local earliest
  for _, set in ipairs({KEYS[4], KEYS[5]}) do
    local first = redis.call('ZRANGE', set, 0, 0, 'WITHSCORES')
    if first[2] and (not earliest or tonumber(first[2]) < tonumber(earliest)) then
      earliest = first[2]
    end
  end
  return earliest
end

-- Due ones are let in by and by, so that what comes new has never many of them before it.
local moved, earliest = 0, earliest_due()
if earliest and tonumber(earliest) <= tonumber(now) then
  local room = math.min(math.max(tonumber(ARGV[8]) - redis.call('LLEN', KEYS[1]), tonumber(ARGV[9])), MOST_DUE)
  local due = {}
  for _, set in ipairs({KEYS[4], KEYS[5]}) do
    local found = redis.call('ZRANGEBYSCORE', set, '-inf', now, 'WITHSCORES', 'LIMIT', 0, room)
    for i = 1, #found, 2 do
      due[#due + 1] = {set, found[i], tonumber(found[i + 1])}
    end
  end
  table.sort(due, function(a, b) return a[3] < b[3] end)
  moved = math.min(#due, room)
  for i = 1, moved do
    redis.call('ZREM', due[i][1], due[i][2])
    make_pending(due[i][2])
  end
  earliest = earliest_due()
end
local reply = {redis.call('LLEN', KEYS[1]), earliest or '', looked, #returned, string.format('%.3f', clock), more}
for _, id in ipairs(returned) do
  reply[#reply + 1] = id
end
for _, id in ipairs(lost) do
  reply[#reply + 1] = id
end
if moved + #returned > 0 then
  redis.pcall('PUBLISH', KEYS[6], ARGV[7])
end
return reply
