-- apply_step_create applies a step_created (contract §3.4). item.exists says whether the step exists, nil if that is not known yet.
local function apply_step_create(item, step_key, steps_key)
  local refusal = child_refused()
  if refusal then
    return refusal
  end
  local exists = item.exists
  if exists == nil then
    exists = redis.call('EXISTS', step_key) == 1
  end
  if exists then
    return {STEP_EXISTS}
  end
  local created, position = append(log, item)
  redis.call('HSET', step_key, 's', 'pending', 'a', '0', 'u', created, 'ie', position)
  redis.call('ZADD', steps_key, created, item.correlation)
  local step = {'pending', '0', created, false, false, false, position, false, false}
  return add_step(log, {DONE, created, position, false}, step, position, with_payload)
end
