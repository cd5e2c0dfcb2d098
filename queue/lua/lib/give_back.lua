-- give_back puts an active message at the front of the pending list, or drops it if its run has ended meanwhile. It is false for a
-- message that has ended, and of which only the place in the active list was left.
-- $include lib/drop.lua
-- $include lib/release_run.lua
local function give_back(id, pending, active, leases, scheduled, running, parked, prefix, now_ns)
  redis.call('LREM', active, 1, id)
  redis.call('ZREM', leases, id)
  local task = redis.call('HMGET', prefix .. id, 'state', 'over')
  local state = task[1]
  if state == 'completed' or state == 'archived' then
    return false
  end
  if task[2] then -- its run has ended meanwhile, or somebody has dropped it
    release_run(prefix .. id, id, running, parked, scheduled, pending, prefix)
    drop(prefix .. id, id, running)
  elseif state then
    redis.call('HDEL', prefix .. id, 'owner', 'parked')
    release_run(prefix .. id, id, running, parked, scheduled, pending, prefix)
    redis.call('HSET', prefix .. id, 'state', 'pending', 'pending_since', now_ns)
    redis.call('RPUSH', pending, id)
  end
  return true
end
