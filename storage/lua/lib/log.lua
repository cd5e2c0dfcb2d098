-- The log of a run, in two keys and two fields of a third:
--   run      hash; en is how many events there are, et when the last was created
--   events   hash, position -> record; <position>/p -> payload of a split record
--   related  zset of <correlation id>/<position>, all with score 0
-- A position counts from 0. A record is <createdAt>[.]<kind><size>:<size bytes of meta><payload>. With the point
-- the event's id is its slot, else it is made of its time, too (storage/event_id.go). kind is one letter
-- (storage/record.go has the list), in upper case when the payload is in <position>/p.
-- Meta and payload are never looked into here.

local KIND_HOOK_CONFLICT = 'o'
local KIND_WAIT_CREATED = 'p'
local KIND_WAIT_COMPLETED = 'q'

-- kind_of returns the kind of a record.
local function kind_of(record)
  return string.match(record, '%a')
end

-- split reports whether the payload of a record stands apart from it.
local function split(record)
  return string.byte(record, (string.find(record, '%a'))) < 97
end

-- bare returns a record without its payload.
local function bare(record)
  local _, stop, size = string.find(record, '^%d+%.?%a(%d+):')
  return string.sub(record, 1, stop + size)
end

-- load_record returns the record of a field of log.events, false when it is not there, and its payload or false. A run that
-- keeps nothing (log.purged) has no payloads from its end on, also where they have not been removed yet.
local function load_record(log, field, with_payload)
  local record = redis.call('HGET', log.events, field)
  if not record then
    return false, false
  end
  if not with_payload or log.purged then
    return bare(record), false
  end
  return record, split(record) and redis.call('HGET', log.events, field .. '/p')
end

-- related_position returns the position, as text, of the first (or last) event of an entity, or nil.
local function related_position(log, correlation, last)
  local from, to = '[' .. correlation .. '/', '(' .. correlation .. '0'
  local found
  if last then
    found = redis.call('ZREVRANGEBYLEX', log.related, to, from, 'LIMIT', 0, 1)[1]
  else
    found = redis.call('ZRANGEBYLEX', log.related, from, to, 'LIMIT', 0, 1)[1]
  end
  if found then
    return string.match(found, '0*(%d+)$', #correlation + 2)
  end
  return nil
end

-- lost stops the script: the log counts an event that is not there. The text is known to storage/lost.go.
local function lost(position)
  error('EVENTLOST at ' .. position)
end

-- reader returns the functions event_at and page. A call that reads nothing does not make them: Redis makes anew, at
-- each call, every function that its way through the script comes by.
local function reader()
  -- event_at returns the record at a position, and its payload or false. An event that is lost stops the script.
  local function event_at(log, position, with_payload)
    local record, payload = load_record(log, position, with_payload)
    return record or lost(position), payload
  end

  -- page returns {record, payload or false, record, ...} of the events at positions first..last, which the log has
  -- (first > last: backwards). It stops before max_bytes are exceeded, but not before at_least
  -- events, and after so many payloads that stand apart that a script has no more than 2,000 calls.
  local MOST_READS = 1900
  local function page(log, first, last, max_bytes, at_least, with_payload)
    local out, bytes, reads = {}, 0, 0
    local step = first > last and -1 or 1
    for start = first, last, step * 500 do
      local fields = {}
      for position = start, step > 0 and math.min(last, start + 499) or math.max(last, start - 499), step do
        fields[#fields + 1] = string.format('%d', position)
      end
      local records = redis.call('HMGET', log.events, unpack(fields))
      for i = 1, #fields do
        local record, payload = records[i] or lost(fields[i]), false
        if not with_payload or log.purged then
          record = bare(record)
        elseif split(record) then
          reads = reads + 1
          if reads > MOST_READS then
            return out
          end
          payload = redis.call('HGET', log.events, fields[i] .. '/p')
        end
        bytes = bytes + #record + (payload and #payload or 0)
        if bytes > max_bytes and #out >= 2 * at_least then
          return out
        end
        out[#out + 1] = record
        out[#out + 1] = payload
      end
    end
    return out
  end

  return event_at, page
end
