-- release_run ends the time in which no other wake-up of a run is delivered, and brings
-- forward the one that was parked for it, unless the run rests. It is true when there was one.
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
  redis.call('RPUSH', pending, next_id) -- where that is refused it is due by itself
  redis.call('HSET', prefix .. next_id, 'state', 'pending')
  redis.call('ZREM', scheduled, next_id)
  return true
end
