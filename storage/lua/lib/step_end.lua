-- step_end applies a step_completed or step_failed (contract §3.2, §3.4). Only step_failed
-- consults the run. reference is the field for the event's position.
local function step_end(item, step_key, new_status, reference, consults_run)
  local status, spec = run_state()
  local refusal = consults_run and status and refused(spec)
  if refusal then
    return refusal
  end
  local step = redis.call('HMGET', step_key, 's', 'a')
  local step_status, attempt = step[1], step[2]
  if not step_status then
    if consults_run and ended(status) then
      return {RUN_EXPIRED, status}
    end
    return {STEP_MISSING}
  end
  if ended(step_status) then
    return {STEP_ENDED, step_status}
  end
  if consults_run and ended(status) and step_status ~= 'running' then
    return {RUN_EXPIRED, status}
  end
  local added = append(log, spec, item)
  added.note = attempt
  redis.call('HSET', step_key, 's', new_status, 'u', added[2], 'ca', added[2], reference, added[3])
  return {DONE, added, entity(log, step_key, added[3], with_payload)}
end
