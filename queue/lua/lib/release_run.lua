-- release_run ends the time in which no other wake-up of a run is delivered, and brings
-- forward the one that was parked for it. It is true when there was one.
local function release_run(task, id, running, parked, scheduled, pending, prefix)
  local run = redis.call('HGET', task, 'solo')
  if not run then
    return false
  end
  local mark = redis.call('HGET', running, run)
  if not mark or string.sub(mark, 1, #id + 1) ~= id .. ' ' then
    return false
  end
  redis.call('HDEL', running, run)
  local next_id = redis.call('HGET', parked, run)
  if not next_id then
    return false
  end
  redis.call('HDEL', parked, run)
  if redis.call('HDEL', prefix .. next_id, 'parked') == 0 then
    return false
  end
  redis.call('ZREM', scheduled, next_id)
  redis.call('HSET', prefix .. next_id, 'state', 'pending')
  redis.call('RPUSH', pending, next_id)
  return true
end
