-- step_retry applies a step_retrying; the run is not consulted (contract §3.1 step 4, §3.4).
-- retry_after is '' when the step may start at once.
local function step_retry(item, step_key, retry_after)
  local step = fields_of(step_key)
  if not step.s then
    return {STEP_MISSING}
  end
  if ended(step.s) then
    return {STEP_ENDED, step.s}
  end
  local created, position = append(log, item)
  step.s, step.u, step.ee = 'pending', created, position
  if retry_after == '' then
    step.ra = nil
    redis.call('HSET', step_key, 's', step.s, 'u', created, 'ee', position)
    redis.call('HDEL', step_key, 'ra')
  else
    step.ra = retry_after
    redis.call('HSET', step_key, 's', step.s, 'u', created, 'ee', position, 'ra', retry_after)
  end
  return tell(log, {DONE, created, position, false, note = step.a}, step, position, with_payload)
end
