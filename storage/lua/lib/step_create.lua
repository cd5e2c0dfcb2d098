-- step_create applies a step_created (contract §3.4).
local function step_create(item, step_key, steps_key)
  local refusal, spec = child_refused()
  if refusal then
    return refusal
  end
  if redis.call('EXISTS', step_key) == 1 then
    return {STEP_EXISTS}
  end
  local added = append(log, spec, item)
  redis.call('HSET', step_key, 's', 'pending', 'a', 0, 'u', added[2], 'ie', added[3])
  redis.call('ZADD', steps_key, added[2], item.correlation)
  return {DONE, added, entity(log, step_key, added[3], with_payload)}
end
