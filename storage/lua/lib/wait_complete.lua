-- first_event returns {position, record, payload} of the first event of an entity, or false.
local function first_event(correlation)
  local position = related_position(log, correlation, false)
  if not position then
    return false
  end
  local event_at = reader()
  return {position, event_at(log, position, true)}
end

-- wait_complete applies a wait_completed. The wait of a terminal run counts as deleted.
local function wait_complete(item)
  local refusal = log.status and refused(log.spec)
  if refusal then
    return refusal
  end
  local created = first_event(item.correlation)
  if not created or kind_of(created[2]) ~= KIND_WAIT_CREATED then
    return {WAIT_MISSING}
  end
  local event_at = reader()
  local last = event_at(log, related_position(log, item.correlation, true), false)
  if kind_of(last) == KIND_WAIT_COMPLETED then
    return {WAIT_ENDED}
  end
  if ended(log.status) then
    return {WAIT_MISSING}
  end
  local now, position = append(log, item)
  return {DONE, now, position, false, created}
end
