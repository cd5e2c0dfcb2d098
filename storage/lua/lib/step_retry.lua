-- step_retry applies a step_retrying; the run is not consulted (contract §3.1 step 4, §3.4).
-- retry_after is '' when the step may start at once.
local function step_retry(item, step_key, retry_after)
  local step = redis.call('HMGET', step_key, 's', 'a')
  local step_status, attempt = step[1], step[2]
  if not step_status then
    return {STEP_MISSING}
  end
  if ended(step_status) then
    return {STEP_ENDED, step_status}
  end
  local _, spec = run_state()
  local created, position = append(log, spec, item)
  redis.call('HSET', step_key, 's', 'pending', 'u', created, 'ee', position)
  if retry_after == '' then
    redis.call('HDEL', step_key, 'ra')
  else
    redis.call('HSET', step_key, 'ra', retry_after)
  end
  return {DONE, created, position, false, entity(log, step_key, position, with_payload), note = attempt}
end
