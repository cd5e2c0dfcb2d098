-- step_create applies a step_created (contract §3.4).
local function step_create(item, step_key, steps_key)
  local refusal, spec = child_refused()
  if refusal then
    return refusal
  end
  if redis.call('EXISTS', step_key) == 1 then
    return {STEP_EXISTS}
  end
  local created, position = append(log, spec, item)
  redis.call('HSET', step_key, 's', 'pending', 'a', '0', 'u', created, 'ie', position)
  redis.call('ZADD', steps_key, created, item.correlation)
  return {DONE, created, position, false, entity(log, step_key, position, with_payload)}
end
