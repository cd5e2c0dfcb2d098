-- runs_alone decides whether a wake-up of a run may be delivered now. If another one of
-- the run is being delivered, or the run is cooling down, the wake-up is parked until that ends, or dropped if
-- one is parked already: the parked wake-up does the same.
--
-- Nothing waits forever. A mark that does not name an active message, or is older than
-- since, does not count, and a parked wake-up is due after a while.
-- $include lib/drop.lua
-- $include lib/own_key.lua
local function runs_alone(task, id, run, k, prefix, now, since, park_until)
  local mark = redis.call('HGET', k.running, run)
  local held = false
  if mark then
    local holder, started = string.match(mark, '^(%S+) (%d+)$')
    held = holder and tonumber(started) >= since and redis.call('HGET', prefix .. holder, 'state') == 'active'
  end
  local cooling_down = not held and redis.call('EXISTS', own_key(k.running, 'resting:' .. run)) == 1
  if held or cooling_down then
    local other = redis.call('HGET', k.parked, run)
    if other and other ~= id and redis.call('HGET', prefix .. other, 'parked') then
      local wait = redis.call('HGET', task, 'wait')
      if wait and redis.call('HGET', k.waiting, wait) == id then
        redis.call('HDEL', k.waiting, wait)
      end
      drop(task, id, k.running)
      return false
    end
    redis.call('HSET', task, 'state', 'scheduled', 'parked', '1')
    redis.call('HDEL', task, 'pending_since')
    -- The process that ends the cooldown may be gone, and nothing else would wake the run.
    redis.call('ZADD', k.scheduled, cooling_down and string.format('%.3f', now / 1000 + 2) or park_until, id)
    redis.call('HSET', k.parked, run, id)
    return false
  end
  redis.call('HSET', k.running, run, id .. ' ' .. now)
  return true
end
