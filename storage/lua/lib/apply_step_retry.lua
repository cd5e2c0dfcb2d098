-- apply_step_retry applies a step_retrying; the run is not consulted (contract §3.1 step 4, §3.4).
-- retry_after is '' when the step may start at once.
local function apply_step_retry(item, step_key, retry_after)
  local step = item.step or step_of(step_key)
  local step_status, attempt = step[1], step[2]
  if not step_status then
    return {STEP_MISSING}
  end
  if ended(step_status) then
    return {STEP_ENDED, step_status}
  end
  local clears = retry_after == '' and step[6]
  if clears and not log.held then
    try_memory()
    redis.call('HDEL', step_key, '') -- is refused before anything is written; a batch has tried it
  end
  local created, position = append(log, item)
  step[1], step[3], step[6], step[9] = 'pending', created, retry_after ~= '' and retry_after, position
  if retry_after == '' then
    redis.call('HSET', step_key, 's', 'pending', 'u', created, 'ee', position)
    if clears then
      redis.call('HDEL', step_key, 'ra')
    end
  else
    redis.call('HSET', step_key, 's', 'pending', 'u', created, 'ee', position, 'ra', retry_after)
  end
  return add_step(log, {DONE, created, position, false, note = attempt}, step, position, with_payload)
end
