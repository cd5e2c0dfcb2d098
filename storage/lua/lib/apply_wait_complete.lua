-- first_event returns {position, record, payload} of the first event of an entity, or false.
local function first_event(correlation)
  local position = related_position(log, correlation, false)
  if not position then
    return false
  end
  local event_at = reader()
  return {position, event_at(log, position, true)}
end

-- read_wait returns what first_event does for a wait_created, else false, and the kind of the last event of the wait.
local function read_wait(correlation)
  local created = first_event(correlation)
  if not created or kind_of(created[2]) ~= KIND_WAIT_CREATED then
    return false
  end
  local event_at = reader()
  return created, kind_of((event_at(log, related_position(log, correlation, true), false)))
end

-- apply_wait_complete applies a wait_completed. The wait of a terminal run counts as deleted. item.wait is what read_wait returned,
-- nil when nobody asked yet.
local function apply_wait_complete(item)
  local refusal = log.status and refused(log.spec)
  if refusal then
    return refusal
  end
  local created, last = item.wait, item.last
  if created == nil then
    created, last = read_wait(item.correlation)
  end
  if not created then
    return {WAIT_MISSING}
  end
  if last == KIND_WAIT_COMPLETED then
    return {WAIT_ENDED}
  end
  if ended(log.status) then
    return {WAIT_MISSING}
  end
  local now, position = append(log, item)
  return {DONE, now, position, false, created}
end
