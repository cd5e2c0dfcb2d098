-- What the events of a step make of it, by the letters of storage/internal/record/record.go in lower case.
local STEP_STATUS = {g = 'pending', h = 'running', i = 'pending', j = 'completed', k = 'failed'}

local function kind_at(log, position)
  local event_at = reader()
  return string.lower(kind_of((event_at(log, position, false))))
end

-- step_wrong reports whether a step is something else than its events say, in five calls, and returns whether it has events.
local function step_wrong(log, step_key, step_id)
  local status = redis.call('HGET', step_key, 's')
  local first = related_position(log, step_id, false)
  if not first then
    return status and true or false, false
  end
  if kind_at(log, first) ~= 'g' then
    return false, true
  end
  local says = STEP_STATUS[kind_at(log, related_position(log, step_id, true))]
  return says and says ~= status, true
end
