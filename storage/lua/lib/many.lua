-- These functions do for many events at once what other scripts do for one.

-- write_held writes what append collected.
local function write_held(log)
  local held = log.held
  if #held.fields > 0 then
    redis.call('HSET', log.events, unpack(held.fields))
  end
  if #held.related > 0 then
    redis.call('ZADD', log.related, unpack(held.related))
  end
  held.fields, held.related = {}, {}
end

-- read_events returns the records and payloads of the events at positions, by their positions.
local function read_events(log, positions)
  local records, payloads, apart = {}, {}, {}
  for i, record in ipairs(#positions > 0 and redis.call('HMGET', log.events, unpack(positions)) or {}) do
    records[positions[i]] = record or lost(positions[i])
    if not log.purged and split(record) then
      apart[#apart + 1] = positions[i]
    elseif log.purged then
      records[positions[i]] = bare(record)
    end
  end
  local fields = {}
  for i, position in ipairs(apart) do
    fields[i] = position .. '/p'
  end
  for i, payload in ipairs(#fields > 0 and redis.call('HMGET', log.events, unpack(fields)) or {}) do
    payloads[apart[i]] = payload
  end
  return records, payloads
end

-- read_later reads the events that were collected in log.later (lib/entity.lua). An event costs a call or two for its length,
-- and all of them together two calls. room is how many bytes the reply may still get; what does not fit is replaced by its
-- length.
local function read_later(log, room)
  local fields, places = {}, {}
  for _, one in ipairs(log.later) do
    local out, at, with_payload = one.out, one.at, one.with_payload and not log.purged
    local size = redis.call('HSTRLEN', log.events, one.position)
    if size > room then
      local apart = with_payload and redis.call('HSTRLEN', log.events, one.position .. '/p') or 0
      out[at], out[at + 1] = with_payload and size or -size, apart > 0 and apart
    elseif size > 0 then
      room = room - size
      fields[#fields + 1], places[#places + 1] = one.position, one
    end
  end
  if #fields == 0 then
    return
  end
  local payloads, payload_places = {}, {}
  for i, record in ipairs(redis.call('HMGET', log.events, unpack(fields))) do
    local one = places[i]
    local out, at = one.out, one.at
    if not one.with_payload or log.purged then
      out[at] = bare(record)
    else
      out[at] = record
      local field = one.position .. '/p'
      local size = split(record) and redis.call('HSTRLEN', log.events, field) or 0
      if size > room then
        out[at + 1] = size
      elseif size > 0 then
        room = room - size
        payloads[#payloads + 1], payload_places[#payload_places + 1] = field, one
      end
    end
  end
  if #payloads > 0 then
    for i, payload in ipairs(redis.call('HMGET', log.events, unpack(payloads))) do
      local one = payload_places[i]
      one.out[one.at + 1] = payload
    end
  end
end
