-- Takes messages for delivery and leases them to the caller.
--
-- KEYS[1] pending list
-- KEYS[2] paused flag
-- KEYS[3] active list
-- KEYS[4] lease zset
-- KEYS[5] stalled set: messages that wait for an app
-- KEYS[6] counter of registrations that woke the stalled ones
-- KEYS[7] hash: run and deployment -> wake-up that waits to be delivered now
-- KEYS[8] hash: run -> wake-up being delivered, and since when
-- KEYS[9] hash: run -> wake-up parked until that has ended
-- KEYS[10] scheduled zset
-- KEYS[11] hash: run -> its delayed wake-up
-- ARGV[1] task key prefix
-- ARGV[2] owner token
-- ARGV[3] how many at most
-- ARGV[4] length of the lease, in seconds
-- ARGV[5] now, in ms
-- ARGV[6] wake-ups being delivered since before this, in ms, hold up no other
-- ARGV[7] when a parked one is looked at again, in seconds with three decimals
-- ARGV[8] until when the caller waits for the answer, by Redis's clock in seconds; empty: not known
-- Reply: {-1} it does so no longer, nothing is taken; {messages left, wakes, id, message, failed deliveries, times rescheduled,
--         pending since (ns), app that a delivery was begun with or '', ms to wait before the next one, id, ...}
-- $include lib/runs_alone.lua
-- $include lib/server_time.lua

if ARGV[8] ~= '' and server_time() > tonumber(ARGV[8]) then
  return {-1}
end
local hashes = {waiting = KEYS[7], running = KEYS[8], parked = KEYS[9], scheduled = KEYS[10]}
local wakes = redis.call('GET', KEYS[6]) or '0'
if redis.call('EXISTS', KEYS[2]) == 1 then
  return {0, wakes}
end
local reply = {0, wakes}
local taken, most, looked = 0, tonumber(ARGV[3]), 0
local clock
while taken < most and looked < 80 do -- up to 20 commands each
  looked = looked + 1
  -- Until it has a lease, or is nowhere any more, the sweep gives it back: also where Redis refuses what comes next.
  local id = redis.call('RPOPLPUSH', KEYS[1], KEYS[3])
  if not id then
    break
  end
  local task = ARGV[1] .. id
  local fields = redis.call('HMGET', task, 'msg', 'failed', 'moved', 'stalled', 'solo', 'wait', 'begun', 'app', 'hold', 'crowded', 'pending_since', 'lead')
  local solo, wait = fields[5], fields[6]
  if fields[4] then
    redis.call('HDEL', task, 'stalled')
    redis.call('SREM', KEYS[5], id)
  end
  if fields[10] then
    redis.call('HDEL', task, 'crowded')
    redis.call('ZREM', fields[10], id)
  end
  if solo and redis.call('HGET', KEYS[11], solo) == id then
    redis.call('HDEL', KEYS[11], solo)
  end
  if fields[1] and (not solo or runs_alone(task, id, solo, hashes, ARGV[1], ARGV[5], tonumber(ARGV[6]), ARGV[7])) then
    if wait and redis.call('HGET', KEYS[7], wait) == id then
      redis.call('HDEL', KEYS[7], wait)
    end
    if fields[12] then
      redis.call('HSET', KEYS[8], fields[12], id .. ' ' .. ARGV[5])
    end
    clock = clock or server_time()
    redis.call('ZADD', KEYS[4], string.format('%.3f', clock + tonumber(ARGV[4])), id)
    redis.call('HSET', task, 'state', 'active', 'owner', ARGV[2], 'begun', fields[7] and 'before' or 'now')
    redis.call('HDEL', task, 'pending_since')
    taken = taken + 1
    reply[#reply + 1] = id
    reply[#reply + 1] = fields[1]
    local failed, moved = fields[2] or '0', fields[3] or '0'
    -- A delivery that broke off has perhaps begun the work, although nobody is charged for it:
    -- the app must not take the next one for the first.
    if fields[7] and failed == '0' and moved == '0' then
      moved = '1'
    end
    reply[#reply + 1] = failed
    reply[#reply + 1] = moved
    reply[#reply + 1] = fields[11] or ARGV[5] .. '000000'
    reply[#reply + 1] = fields[8] or ''
    local hold = 0
    if fields[9] then
      redis.call('HDEL', task, 'hold')
      hold = math.max(0, math.ceil((tonumber(fields[9]) - clock) * 1000))
    end
    reply[#reply + 1] = tostring(hold)
  else
    redis.call('LREM', KEYS[3], 1, id)
  end
end
reply[1] = redis.call('LLEN', KEYS[1])
return reply
