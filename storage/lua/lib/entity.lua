-- $include lib/log.lua
-- An entity is a hash of small scalars. Its fields ie, oe and ee are the positions of the
-- events that hold its input, output and error. One of the legacy calls has no such events:
-- its fields in and out are the input and the output themselves.

-- entity returns {field, value, ..., position, record, payload, ...}: no field's name begins with a digit. The event at
-- position own is left out: the caller has it. The created event is always given, because
-- its meta holds what never changes; without payloads the output is left out.
local function entity(log, key, own, with_payload)
  local out = redis.call('HGETALL', key)
  for i = 1, #out, 2 do
    local field, position = out[i], out[i + 1]
    if not with_payload and (field == 'in' or field == 'out') then
      out[i + 1] = ''
    end
    local wanted = field == 'ie' or field == 'ee' or (field == 'oe' and with_payload)
    if wanted and position ~= own then
      -- An entity can be shown without an event that was lost.
      local record, payload = load_record(log, position, with_payload or field == 'ee')
      if record then
        out[#out + 1] = position
        out[#out + 1] = record
        out[#out + 1] = payload
      end
    end
  end
  return out
end
