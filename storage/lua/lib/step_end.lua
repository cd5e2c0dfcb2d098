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
  local created, position = append(log, spec, item)
  redis.call('HSET', step_key, 's', new_status, 'u', created, 'ca', created, reference, position)
  return {DONE, created, position, false, entity(log, step_key, position, with_payload), note = attempt}
end
