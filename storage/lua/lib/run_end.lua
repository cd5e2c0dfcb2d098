-- $include lib/leave.lua
-- $include lib/purge.lua
-- run_end applies a run_completed, run_failed or run_cancelled, and removes the run's hooks
-- (contract §3.2, §3.3). reference is the field for the event's position, '' for none. Whoever awaits the end listens on channel.
local function run_end(item, new_status, reference, hooks_key, hooks_order, left_key, channel)
  local status, spec = run_state()
  if not status then
    return {RUN_MISSING}
  end
  local refusal = refused(spec)
  if refusal then
    return refusal
  end
  if status == 'cancelled' and new_status == 'cancelled' then
    local created, position = append(log, spec, item)
    return {DONE, created, position, false, entity(log, log.run, position, with_payload), leave(left_key, {})}
  end
  if ended(status) then
    return {RUN_ENDED, status}
  end
  local created, position = append(log, spec, item)
  if reference == '' then
    redis.call('HSET', log.run, 's', new_status, 'u', created, 'ca', created)
  else
    redis.call('HSET', log.run, 's', new_status, 'u', created, 'ca', created, reference, position)
  end
  redis.call('PUBLISH', channel, new_status)
  -- The run's user asked that nothing is kept.
  if redis.call('HGET', log.run, '@$retention') == '0' then
    redis.call('HSET', log.run, 'x', created)
    purge(log)
  end
  local left = leave_all(hooks_key, hooks_order, left_key, item.now)
  return {DONE, created, position, false, entity(log, log.run, position, with_payload), left}
end
