-- apply_step_end applies a step_completed or step_failed (contract §3.2, §3.4). Only step_failed
-- consults the run. reference is the field for the event's position.
local function apply_step_end(item, step_key, new_status, reference, consults_run)
  local status = log.status
  local refusal = consults_run and status and refused(log.spec)
  if refusal then
    return refusal
  end
  local step = item.step or step_of(step_key)
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
  local created, position = append(log, item)
  step[1], step[3], step[5], step[reference == 'oe' and 8 or 9] = new_status, created, created, position
  redis.call('HSET', step_key, 's', new_status, 'u', created, 'ca', created, reference, position)
  return add_step(log, {DONE, created, position, false, note = attempt}, step, position, with_payload)
end
