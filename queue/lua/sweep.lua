-- The upkeep of one queue: renews the caller's leases, returns messages whose lease has
-- lapsed, and makes due ones pending. Run twice it does no harm.
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
-- ARGV[3] end of a renewed lease, likewise
-- ARGV[4] 1: return messages whose lease has lapsed
-- ARGV[5] how many messages to move at most, of each sort
-- ARGV[6] now, in ns
-- ARGV[7] what to say on the doorbell
-- ARGV[8...] message id, owner token of each lease to renew
-- Reply: {messages pending, moved, earliest due or '', number of returned ones,
--         id of each returned one ..., id of each lease that is no longer the caller's ...}
-- $include lib/release_run.lua

local prefix, now, most = ARGV[1], ARGV[2], tonumber(ARGV[5])
local lost = {}
for i = 8, #ARGV, 2 do
  if redis.call('HGET', prefix .. ARGV[i], 'owner') == ARGV[i + 1] then
    redis.call('ZADD', KEYS[3], ARGV[3], ARGV[i])
  else
    lost[#lost + 1] = ARGV[i]
  end
end

local returned = {}
if ARGV[4] == '1' then
  returned = redis.call('ZRANGEBYSCORE', KEYS[3], '-inf', now, 'LIMIT', 0, most)
  for _, id in ipairs(returned) do
    redis.call('LREM', KEYS[2], 1, id)
    redis.call('ZREM', KEYS[3], id)
    if redis.call('EXISTS', prefix .. id) == 1 then
      redis.call('HDEL', prefix .. id, 'owner')
      release_run(prefix .. id, id, KEYS[7], KEYS[8], KEYS[4], KEYS[1], prefix)
      redis.call('HSET', prefix .. id, 'state', 'pending', 'pending_since', ARGV[6])
      redis.call('RPUSH', KEYS[1], id)
    end
  end
end

local function make_pending(id)
  local task = prefix .. id
  if redis.call('EXISTS', task) == 0 then
    return
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

local moved, earliest = 0, nil
for _, set in ipairs({KEYS[4], KEYS[5]}) do
  local first = redis.call('ZRANGE', set, 0, 0, 'WITHSCORES')
  if first[2] and tonumber(first[2]) <= tonumber(now) then
    local due = redis.call('ZRANGEBYSCORE', set, '-inf', now, 'LIMIT', 0, most)
    for _, id in ipairs(due) do
      redis.call('ZREM', set, id)
      make_pending(id)
    end
    moved = moved + #due
    first = redis.call('ZRANGE', set, 0, 0, 'WITHSCORES')
  end
  if first[2] and (not earliest or tonumber(first[2]) < tonumber(earliest)) then
    earliest = first[2]
  end
end
local pending = redis.call('LLEN', KEYS[1])
if moved + #returned > 0 then
  redis.call('PUBLISH', KEYS[6], ARGV[7])
end

local reply = {pending, moved, earliest or '', #returned}
for _, id in ipairs(returned) do
  reply[#reply + 1] = id
end
for _, id in ipairs(lost) do
  reply[#reply + 1] = id
end
return reply
