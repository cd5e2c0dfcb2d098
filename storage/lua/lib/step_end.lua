-- step_end applies a step_completed or step_failed (contract §3.2, §3.4). Only step_failed
-- consults the run. reference is the field for the event's position.
local function step_end(item, step_key, new_status, reference, consults_run)
  local status = log.status
  local refusal = consults_run and status and refused(log.spec)
  if refusal then
    return refusal
  end
  local step = fields_of(step_key)
  if not step.s then
    if consults_run and ended(status) then
      return {RUN_EXPIRED, status}
    end
    return {STEP_MISSING}
  end
  if ended(step.s) then
    return {STEP_ENDED, step.s}
  end
  if consults_run and ended(status) and step.s ~= 'running' then
    return {RUN_EXPIRED, status}
  end
  local created, position = append(log, item)
  step.s, step.u, step.ca, step[reference] = new_status, created, created, position
  redis.call('HSET', step_key, 's', new_status, 'u', created, 'ca', created, reference, position)
  return tell(log, {DONE, created, position, false, note = step.a}, step, position, with_payload)
end
