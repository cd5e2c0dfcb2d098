-- $include lib/leave.lua
-- $include lib/purge.lua
-- apply_run_end applies a run_completed, run_failed or run_cancelled to a run with these fields, and removes the run's hooks
-- (contract §3.2, §3.3). reference is the field for the event's position, '' for none.
local function apply_run_end(item, run, new_status, reference, hooks_key, hooks_order, left_key)
  local status = log.status
  if not status then
    return {RUN_MISSING}
  end
  local refusal = refused(log.spec)
  if refusal then
    return refusal
  end
  if status == 'cancelled' and new_status == 'cancelled' then
    local left = leave(left_key, {})
    local again, position = append(log, item)
    return add_entity(log, {DONE, again, position, false, left}, run, position, with_payload)
  end
  if ended(status) then
    return {RUN_ENDED, status}
  end
  local keeps_nothing = run['@$retention'] == '0' -- as an attribute of the run asks
  log.purged = keeps_nothing
  try_memory()
  try_leaving(hooks_key, hooks_order, left_key)
  if keeps_nothing then
    redis.call('HDEL', log.events, '')
    redis.call('HMGET', log.run, 's')
  end
  local created, position = append(log, item)
  log.status = new_status
  run.s, run.u, run.ca = new_status, created, created
  if reference == '' then
    set_run(log, 's', new_status, 'u', created, 'ca', created)
  else
    run[reference] = position
    set_run(log, 's', new_status, 'u', created, 'ca', created, reference, position)
  end
  local left, many = leave_all(hooks_key, hooks_order, left_key, item.now)
  if keeps_nothing then
    run.x = created
    redis.call('HSET', log.run, 'x', created)
    if tonumber(position) < AT_ONCE then
      purge(log, 0, tonumber(position))
    else
      many = true
    end
  end
  if many then
    run.cl = '0'
    redis.call('HSET', log.run, 'cl', '0')
  end
  return add_entity(log, {DONE, created, position, false, left}, run, position, with_payload)
end

-- announce_end notifies those who wait for the end of the run. It comes after every write. If Redis refuses it nothing is lost:
-- they also read the run from time to time (storage/internal/waiters).
local function announce_end(channel, reply)
  if reply[1] == DONE then
    redis.pcall('PUBLISH', channel, log.status)
  end
  return reply
end
