-- release_run ends the delivery of a run's wake-up, so that the next one may be delivered: the parked wake-up of the run
-- becomes pending, unless the run is cooling down. It is true if there was one.
-- $include lib/own_key.lua
local function release_run(task, id, running, parked, scheduled, pending, prefix)
  local f = redis.call('HMGET', task, 'solo', 'lead')
  local run = f[1] or f[2]
  if not run then
    return false
  end
  local mark = redis.call('HGET', running, run)
  if not mark or string.sub(mark, 1, #id + 1) ~= id .. ' ' then
    return false
  end
  redis.call('HDEL', running, run)
  local next_id = redis.call('HGET', parked, run)
  if not next_id or redis.call('EXISTS', own_key(running, 'resting:' .. run)) == 1 then
    return false
  end
  redis.call('HDEL', parked, run)
  if redis.call('HDEL', prefix .. next_id, 'parked') == 0 then
    return false
  end
  redis.call('RPUSH', pending, next_id) -- if Redis refuses this, the wake-up is due later
  redis.call('HSET', prefix .. next_id, 'state', 'pending')
  redis.call('ZREM', scheduled, next_id)
  return true
end
