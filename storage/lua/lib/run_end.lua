-- $include lib/leave.lua
-- $include lib/purge.lua
-- run_end applies a run_completed, run_failed or run_cancelled to a run with these fields, and removes the run's hooks
-- (contract §3.2, §3.3). reference is the field for the event's position, '' for none. Whoever awaits the end listens on channel.
local function run_end(item, run, new_status, reference, hooks_key, hooks_order, left_key, channel)
  local status = log.status
  if not status then
    return {RUN_MISSING}
  end
  local refusal = refused(log.spec)
  if refusal then
    return refusal
  end
  if status == 'cancelled' and new_status == 'cancelled' then
    local again, position = append(log, item)
    return tell(log, {DONE, again, position, false, leave(left_key, {})}, run, position, with_payload)
  end
  if ended(status) then
    return {RUN_ENDED, status}
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
  redis.call('PUBLISH', channel, new_status)
  -- The run's user asked that nothing is kept.
  if run['@$retention'] == '0' then
    run.x, log.purged = created, created
    redis.call('HSET', log.run, 'x', created)
    purge(log)
  end
  local left = leave_all(hooks_key, hooks_order, left_key, item.now)
  return tell(log, {DONE, created, position, false, left}, run, position, with_payload)
end
