-- apply_wait_create applies a wait_created.
local function apply_wait_create(item)
  local refusal = child_refused()
  if refusal then
    return refusal
  end
  if related_position(log, item.correlation, false) then
    return {WAIT_EXISTS}
  end
  local created, position = append(log, item)
  return {DONE, created, position, false}
end
