-- step_create applies a step_created (contract §3.4).
local function step_create(item, step_key, steps_key)
  local refusal = child_refused()
  if refusal then
    return refusal
  end
  if redis.call('EXISTS', step_key) == 1 then
    return {STEP_EXISTS}
  end
  local created, position = append(log, item)
  local step = {s = 'pending', a = '0', u = created, ie = position}
  redis.call('HSET', step_key, 's', step.s, 'a', step.a, 'u', created, 'ie', position)
  redis.call('ZADD', steps_key, created, item.correlation)
  return tell(log, {DONE, created, position, false}, step, position, with_payload)
end
