-- $include lib/log.lua
-- An entity is a hash of small scalars. Its fields ie, oe and ee are the positions of the
-- events that hold its input, output and error. One of the legacy calls has no such events:
-- its fields in and out are the input and the output themselves.

-- entity returns {{field, value, ...}, {position, id, record, payload, ...}}. The event at
-- position own is left out: the caller has it. The created event is always given, because
-- its meta holds what never changes; without payloads the output is left out.
local function entity(log, key, own, with_payload)
  local fields = redis.call('HGETALL', key)
  local events = {}
  for i = 1, #fields, 2 do
    local field, position = fields[i], fields[i + 1]
    if not with_payload and (field == 'in' or field == 'out') then
      fields[i + 1] = ''
    end
    local wanted = field == 'ie' or field == 'ee' or (field == 'oe' and with_payload)
    if wanted and position ~= own then
      -- An entity can be shown without an event that was lost.
      local short = redis.call('ZRANGE', log.order, position, position)[1]
      local event = short and load_record(log, position, long_id(short), with_payload or field == 'ee')
      if event then
        events[#events + 1] = position
        events[#events + 1] = event[1]
        events[#events + 1] = event[2]
        events[#events + 1] = event[3]
      end
    end
  end
  return {fields, events}
end
