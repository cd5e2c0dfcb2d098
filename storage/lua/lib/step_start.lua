-- step_start applies a step_started of a step that exists (contract §3.2, §3.4).
local function step_start(item, step_key)
  local status = log.status
  local refusal = status and refused(log.spec)
  if refusal then
    return refusal
  end
  local step = fields_of(step_key)
  if not step.s then
    if ended(status) then
      return {RUN_EXPIRED, status}
    end
    return {STEP_MISSING}
  end
  if ended(step.s) then
    return {STEP_ENDED, step.s}
  end
  -- A step that runs may be started again after its run ended, up to spec 3.
  if ended(status) and (log.spec >= 4 or step.s ~= 'running') then
    return {RUN_EXPIRED, status}
  end
  if step.ra and tonumber(step.ra) > tonumber(item.now) then
    return {STEP_TOO_EARLY, step.ra}
  end
  local created, position = append(log, item)
  if step.ra then
    step.ra = nil
    redis.call('HDEL', step_key, 'ra')
  end
  step.s, step.a, step.u, step.sa = 'running', string.format('%d', step.a + 1), created, step.sa or created
  redis.call('HSET', step_key, 's', step.s, 'a', step.a, 'u', created, 'sa', step.sa)
  return tell(log, {DONE, created, position, false, note = step.a}, step, position, with_payload)
end
