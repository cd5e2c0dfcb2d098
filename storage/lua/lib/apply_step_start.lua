-- apply_step_start applies a step_started of a step that exists (contract §3.2, §3.4).
local function apply_step_start(item, step_key)
  local status = log.status
  local refusal = status and refused(log.spec)
  if refusal then
    return refusal
  end
  local step = item.step or step_of(step_key)
  local step_status, attempt, started, retry_after = step[1], step[2], step[4], step[6]
  if not step_status then
    if ended(status) then
      return {RUN_EXPIRED, status}
    end
    return {STEP_MISSING}
  end
  if ended(step_status) then
    return {STEP_ENDED, step_status}
  end
  -- A step that runs may be started again after its run ended, up to spec 3.
  if ended(status) and (log.spec >= 4 or step_status ~= 'running') then
    return {RUN_EXPIRED, status}
  end
  if retry_after and tonumber(retry_after) > tonumber(item.now) then
    return {STEP_TOO_EARLY, retry_after}
  end
  if retry_after and not log.held then
    try_memory()
    redis.call('HDEL', step_key, '') -- is refused before anything is written; a batch has tried it
  end
  local created, position = append(log, item)
  if retry_after then
    redis.call('HDEL', step_key, 'ra')
  end
  attempt, started = string.format('%d', attempt + 1), started or created
  step[1], step[2], step[3], step[4], step[6] = 'running', attempt, created, started, false
  redis.call('HSET', step_key, 's', 'running', 'a', attempt, 'u', created, 'sa', started)
  return add_step(log, {DONE, created, position, false, note = attempt}, step, position, with_payload)
end
