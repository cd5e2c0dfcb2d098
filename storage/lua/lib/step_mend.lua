-- What the events of a step make of it, by the letters of storage/record.go in lower case.
local STEP_STATUS = {g = 'pending', h = 'running', i = 'pending', j = 'completed', k = 'failed'}

local function kind_at(log, position)
  local event_at = reader()
  return string.lower(kind_of((event_at(log, position, false))))
end

-- step_mend makes a step what its events say and returns whether it was something else.
local function step_mend(log, step_key, steps_key, step_id)
  if tonumber(redis.call('HGET', log.run, 'v') or 0) <= 1 then
    return false -- no run, or one of the legacy calls, whose steps have no events
  end
  local status = redis.call('HGET', step_key, 's')
  local first = related_position(log, step_id, false)
  if not first then
    if not status then
      return false
    end
    redis.call('DEL', step_key)
    redis.call('ZREM', steps_key, step_id)
    return true
  end
  if kind_at(log, first) ~= 'g' or status == STEP_STATUS[kind_at(log, related_position(log, step_id, true))] then
    return false
  end

  local fields, attempt, created = {}, 0, nil
  local from = '[' .. step_id .. '/'
  while from do
    local page = redis.call('ZRANGEBYLEX', log.related, from, '(' .. step_id .. '0', 'LIMIT', 0, 500)
    local positions = {}
    for i, member in ipairs(page) do
      positions[i] = string.match(member, '0*(%d+)$', #step_id + 2)
    end
    local records = #positions > 0 and redis.call('HMGET', log.events, unpack(positions))
    for i, position in ipairs(positions) do
      local record = records[i] or lost(position)
      local kind, at = string.lower(kind_of(record)), string.match(record, '^%d+')
      fields.s, fields.u = STEP_STATUS[kind] or fields.s, at
      if kind == 'g' then
        fields.ie, created = position, at
      elseif kind == 'h' then
        attempt, fields.sa = attempt + 1, fields.sa or at
      elseif kind == 'j' then
        fields.oe, fields.ca = position, at
      elseif kind == 'k' then
        fields.ee, fields.ca = position, at
      elseif kind == 'i' then
        fields.ee = position
      end
    end
    from = #page == 500 and '(' .. page[#page] or nil
  end
  fields.a = string.format('%d', attempt)
  redis.call('DEL', step_key)
  for field, value in pairs(fields) do
    redis.call('HSET', step_key, field, value)
  end
  redis.call('ZADD', steps_key, 'NX', created, step_id)
  return true
end
