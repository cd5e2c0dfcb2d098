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
    local again = append(log, spec, item)
    return {DONE, again, entity(log, log.run, again[3], with_payload), leave(left_key, {})}
  end
  if ended(status) then
    return {RUN_ENDED, status}
  end
  local added = append(log, spec, item)
  redis.call('HSET', log.run, 's', new_status, 'u', added[2], 'ca', added[2])
  redis.call('PUBLISH', channel, new_status)
  if reference ~= '' then
    redis.call('HSET', log.run, reference, added[3])
  end
  -- The run's user asked that nothing is kept.
  if redis.call('HGET', log.run, '@$retention') == '0' then
    redis.call('HSET', log.run, 'x', added[2])
    purge(log)
  end
  return {DONE, added, entity(log, log.run, added[3], with_payload), leave_all(hooks_key, hooks_order, left_key, item.now)}
end
