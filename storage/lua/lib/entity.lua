-- $include lib/log.lua
-- An entity is a hash of small scalars. Its fields ie, oe and ee are the positions of the
-- events that hold its input, output and error. One of the legacy calls has no such events:
-- its fields in and out are the input and the output themselves.

-- fields_of returns the fields of an entity by their names.
local function fields_of(key)
  local flat, fields = redis.call('HGETALL', key), {}
  for i = 1, #flat, 2 do
    fields[flat[i]] = flat[i + 1]
  end
  return fields
end

-- fields_within does so within log.room (lib/log.lua), and returns nil if there is no such entity. Only the legacy calls keep
-- payloads in an entity, and only they write its field c.
local function fields_within(log, key)
  local legacy = redis.call('HMGET', key, 's', 'c')
  if not legacy[1] then
    return nil
  end
  if not legacy[2] then
    return fields_of(key)
  end
  local fields = {}
  for _, field in ipairs(redis.call('HKEYS', key)) do
    local size = redis.call('HSTRLEN', key, field)
    if size > log.room then
      fields[field] = size
    else
      fields[field] = redis.call('HGET', key, field)
      log.room = log.room - size
    end
  end
  return fields
end

-- refer adds {position, record, payload} to out. An entity is shown without an event that was lost. A script that replies with
-- many entities has the list log.later, which collects the events to read at once (lib/many.lua).
local function refer(log, out, position, with_payload)
  local later = log.later
  if later then
    local n = #out
    out[n + 1], out[n + 2], out[n + 3] = position, false, false
    later[#later + 1] = {out = out, at = n + 2, position = position, with_payload = with_payload}
    return
  end
  local record, payload = load_record(log, position, with_payload)
  if record then
    local n = #out
    out[n + 1], out[n + 2], out[n + 3] = position, record, payload
  end
end

-- add_entity adds {field, value, ..., position, record, payload, ...} to out; no field name begins with a digit. It leaves out the
-- event at position own, which the caller has. The created event is always there, because its meta has what never changes.
-- Without payloads the output is left out.
local function add_entity(log, out, fields, own, with_payload)
  fields.en, fields.et, fields.rb = nil, nil, nil -- of the log
  local n = #out
  for field, value in pairs(fields) do
    if not with_payload and (field == 'in' or field == 'out') then
      value = ''
    end
    out[n + 1], out[n + 2] = field, value
    n = n + 2
  end
  if fields.ie and fields.ie ~= own then
    refer(log, out, fields.ie, with_payload)
  end
  if fields.ee and fields.ee ~= own then
    refer(log, out, fields.ee, true)
  end
  if fields.oe and fields.oe ~= own and with_payload then
    refer(log, out, fields.oe, true)
  end
  return out
end

-- step_of returns the fields of a step, in the order of storage/internal/record/step.go; false for those that are absent.
local function step_of(key)
  return redis.call('HMGET', key, 's', 'a', 'u', 'sa', 'ca', 'ra', 'ie', 'oe', 'ee')
end

-- add_step adds these fields, and the events as add_entity does, to a reply.
local function add_step(log, out, step, own, with_payload)
  local n = #out
  for i = 1, 9 do
    out[n + i] = step[i]
  end
  local input, output, failure = step[7], step[8], step[9]
  if input and input ~= own then
    refer(log, out, input, with_payload)
  end
  if failure and failure ~= own then
    refer(log, out, failure, true)
  end
  if output and output ~= own and with_payload then
    refer(log, out, output, true)
  end
  return out
end

-- entity is add_entity for an entity as it is, and returns a new list.
local function entity(log, key, with_payload)
  return add_entity(log, {}, fields_of(key), '', with_payload)
end
