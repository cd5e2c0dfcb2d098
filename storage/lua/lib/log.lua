-- The log of a run, as three keys:
--   order    zset of short ids (see long_id), score createdAt; an event's rank is its position, 0-based
--   events   hash, position -> record; <position>/p -> payload of a split record
--   related  zset of <correlation id>/<position>, all with score 0
-- A record is <createdAt><kind><size>:<size bytes of meta><payload>. kind is one letter
-- (storage/record.go has the list), in upper case when the payload is in <position>/p.
-- Meta and payload are never looked into here.

local KIND_HOOK_CONFLICT = 'o'
local KIND_WAIT_CREATED = 'p'
local KIND_WAIT_COMPLETED = 'q'

-- lost stops the script: the log names an event that is not there. The text is known to storage/lost.go.
local function lost(id)
  error('EVENTLOST ' .. tostring(id))
end

-- long_id returns the id of an event by what stands for it in log.order: 26 characters are its ULID, seven
-- digits its slot. Both keep their order as text, for events of the same millisecond.
local function long_id(short)
  if #short == 26 then
    return 'wevt_' .. short
  end
  return 'evnt_' .. string.rep('0', 26 - #short) .. short
end

-- short_slot returns what stands for a slot of spec 6 and up.
local function short_slot(slot)
  return string.format('%07d', slot)
end

-- header returns the kind of a record and where its meta ends.
local function header(record)
  local _, stop, kind, size = string.find(record, '^%d+(%a)(%d+):')
  return kind, stop + tonumber(size)
end

-- bare returns a record without its payload.
local function bare(record)
  local _, meta_end = header(record)
  return string.sub(record, 1, meta_end)
end

-- load_record returns {id, record, payload or false} of a field of log.events, or false when it is not there.
local function load_record(log, field, id, with_payload)
  local record = redis.call('HGET', log.events, field)
  if not record then
    return false
  end
  local kind, meta_end = header(record)
  if not with_payload then
    return {id, string.sub(record, 1, meta_end), false}
  end
  if kind < 'a' then
    return {id, record, redis.call('HGET', log.events, field .. '/p')}
  end
  return {id, record, false}
end

-- event_at returns {id, record, payload or false} of the event at a position. One that is lost stops the script.
local function event_at(log, position, with_payload)
  local short = redis.call('ZRANGE', log.order, position, position)[1] or lost('at ' .. position)
  return load_record(log, position, long_id(short), with_payload) or lost(long_id(short))
end

-- related_position returns the position of the first (or last) event of an entity, or nil.
local function related_position(log, correlation, last)
  local from, to = '[' .. correlation .. '/', '(' .. correlation .. '0'
  local found
  if last then
    found = redis.call('ZREVRANGEBYLEX', log.related, to, from, 'LIMIT', 0, 1)[1]
  else
    found = redis.call('ZRANGEBYLEX', log.related, from, to, 'LIMIT', 0, 1)[1]
  end
  if found then
    return tonumber(string.sub(found, #correlation + 2))
  end
  return nil
end

-- page returns {id, record, payload or false, id, ...} of the events at positions first..last
-- (first > last: backwards). It stops before max_bytes are exceeded, but not before at_least
-- events.
local function page(log, first, last, max_bytes, at_least, with_payload)
  local out, bytes = {}, 0
  local lowest = math.min(first, last)
  local ids = redis.call('ZRANGE', log.order, lowest, math.max(first, last))
  local from, to, step = 1, #ids, 1
  if first > last then
    from, to, step = #ids, 1, -1
  end
  for start = from, to, step * 500 do
    local chunk, fields = {}, {}
    for i = start, start + step * 499, step do
      if ids[i] then
        chunk[#chunk + 1] = long_id(ids[i])
        fields[#fields + 1] = lowest + i - 1
      end
    end
    local records = redis.call('HMGET', log.events, unpack(fields))
    for i = 1, #chunk do
      local record, payload = records[i] or lost(chunk[i]), false
      local kind, meta_end = header(record)
      if not with_payload then
        record = string.sub(record, 1, meta_end)
      elseif kind < 'a' then
        payload = redis.call('HGET', log.events, fields[i] .. '/p')
      end
      bytes = bytes + #record + (payload and #payload or 0)
      if bytes > max_bytes and #out >= 3 * at_least then
        return out
      end
      out[#out + 1] = chunk[i]
      out[#out + 1] = record
      out[#out + 1] = payload
    end
  end
  return out
end
