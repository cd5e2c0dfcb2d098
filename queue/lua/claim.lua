-- claim: claims messages for delivery and leases them to the caller.
-- KEYS: pending paused active leases waiting_for_app registrations waiting running parked scheduled delayed
-- ARGV: prefix owner most lease_time now alone_since park_until answer_by
-- REPLY: {-1} answer_by has passed, nothing is claimed; {messages left, registrations_seen, id, message, failed deliveries, times rescheduled,
--         pending since (ns), app that an earlier delivery was begun with or '', ms to wait before the next one, id, ...}
-- $include lib/runs_alone.lua
-- $include lib/server_time.lua
local pending = KEYS[1]
local paused = KEYS[2] -- flag
local active = KEYS[3]
local leases = KEYS[4]
local waiting_for_app = KEYS[5] -- set: messages that wait for an app
local registrations = KEYS[6] -- counter of registrations that made these due
local waiting = KEYS[7] -- hash: run and deployment -> wake-up that waits to be delivered now
local running = KEYS[8] -- hash: run -> wake-up being delivered, and since when
local parked = KEYS[9] -- hash: run -> wake-up parked until that has ended
local scheduled = KEYS[10]
local delayed = KEYS[11] -- hash: run -> its delayed wake-up
local prefix = ARGV[1] -- of task keys
local owner = ARGV[2] -- token of the leases
local most = tonumber(ARGV[3]) -- messages
local lease_time = tonumber(ARGV[4]) -- in seconds
local now = ARGV[5] -- in ms
local alone_since = tonumber(ARGV[6]) -- wake-ups being delivered since before this, in ms, delay no others
local park_until = ARGV[7] -- when a parked wake-up is due, in seconds with three decimals
local answer_by = ARGV[8] -- until when the caller waits for the answer, by Redis's clock in seconds; empty: not known

if answer_by ~= '' and server_time() > tonumber(answer_by) then
  return {-1}
end
local hashes = {waiting = waiting, running = running, parked = parked, scheduled = scheduled}
local registrations_seen = redis.call('GET', registrations) or '0'
if redis.call('EXISTS', paused) == 1 then
  return {0, registrations_seen}
end
local reply = {0, registrations_seen}
local taken, looked = 0, 0
local clock
while taken < most and looked < 80 do -- up to 20 commands each
  looked = looked + 1
  -- If Redis refuses one of the next commands, the sweep puts the message back: it is active without a lease.
  local id = redis.call('RPOPLPUSH', pending, active)
  if not id then
    break
  end
  local task = prefix .. id
  local fields = redis.call('HMGET', task, 'msg', 'failed', 'moved', 'stalled', 'solo', 'wait', 'begun', 'app', 'hold', 'crowded', 'pending_since', 'lead')
  local solo, wait = fields[5], fields[6]
  if fields[4] then
    redis.call('HDEL', task, 'stalled')
    redis.call('SREM', waiting_for_app, id)
  end
  if fields[10] then
    redis.call('HDEL', task, 'crowded')
    redis.call('ZREM', fields[10], id)
  end
  if solo and redis.call('HGET', delayed, solo) == id then
    redis.call('HDEL', delayed, solo)
  end
  if fields[1] and (not solo or runs_alone(task, id, solo, hashes, prefix, now, alone_since, park_until)) then
    if wait and redis.call('HGET', waiting, wait) == id then
      redis.call('HDEL', waiting, wait)
    end
    if fields[12] then
      redis.call('HSET', running, fields[12], id .. ' ' .. now)
    end
    clock = clock or server_time()
    redis.call('ZADD', leases, string.format('%.3f', clock + lease_time), id)
    redis.call('HSET', task, 'state', 'active', 'owner', owner, 'begun', fields[7] and 'before' or 'now')
    redis.call('HDEL', task, 'pending_since')
    taken = taken + 1
    reply[#reply + 1] = id
    reply[#reply + 1] = fields[1]
    local failed, rescheduled = fields[2] or '0', fields[3] or '0'
    -- A delivery that broke has perhaps begun the work, although it is not charged:
    -- the app must not treat the next one as the first.
    if fields[7] and failed == '0' and rescheduled == '0' then
      rescheduled = '1'
    end
    reply[#reply + 1] = failed
    reply[#reply + 1] = rescheduled
    reply[#reply + 1] = fields[11] or now .. '000000'
    reply[#reply + 1] = fields[8] or ''
    local hold = 0
    if fields[9] then
      redis.call('HDEL', task, 'hold')
      hold = math.max(0, math.ceil((tonumber(fields[9]) - clock) * 1000))
    end
    reply[#reply + 1] = tostring(hold)
  else
    redis.call('LREM', active, 1, id)
  end
end
reply[1] = redis.call('LLEN', pending)
return reply
