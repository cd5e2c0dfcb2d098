-- The log of a run, in two keys and two fields of a third:
--   run      hash; en is how many events there are, et when the last was created
--   events   hash, position -> record; <position>/p -> payload of a split record
--   related  zset of <correlation id>/<position>, all with score 0
-- A position counts from 0. A record is <createdAt>[.]<kind><size>:<size bytes of meta><payload>. With the point
-- the event's id is its slot, otherwise it also includes its time (storage/internal/record/event_id.go). kind is one letter
-- (storage/internal/record/record.go has the list), in upper case when the payload is in <position>/p.
-- Scripts never look inside meta and payload.

local KIND_HOOK_CONFLICT = 'o'
local KIND_WAIT_CREATED = 'p'
local KIND_WAIT_COMPLETED = 'q'

-- How many bytes of a reply a part of a log may take; storage/portion.go reads what does not fit.
local PAGE_ROOM = 1048576
-- How many events a script adds to another answer.
local PAGE_EVENTS = 800

-- kind_of returns the kind of a record.
local function kind_of(record)
  return string.match(record, '%a')
end

-- split reports whether the payload of a record is in a field of its own.
local function split(record)
  -- A time has 13 digits, so the place of the kind is known; a search takes several times as long.
  local kind, digit = string.byte(record, 14), string.byte(record, 13)
  if kind == 46 then
    kind = string.byte(record, 15)
  end
  if not kind or kind < 65 or digit < 48 or digit > 57 then
    kind = string.byte(record, (string.find(record, '%a')))
  end
  return kind < 97
end

-- bare returns a record without its payload.
local function bare(record)
  local _, stop, size = string.find(record, '^%d+%.?%a(%d+):')
  return string.sub(record, 1, stop + size)
end

-- load_record returns the record of a field of log.events, false if it is not there, and its payload or false. A run that keeps
-- nothing (log.purged) has no payloads after its end, even if they have not been removed yet. With log.room, the number of
-- bytes that the reply may still get, what does not fit is replaced by its length, and the caller reads it
-- (storage/portion.go). A negative length says that it must cut off the payload.
local function load_record(log, field, with_payload)
  with_payload = with_payload and not log.purged
  if log.room then
    local size = redis.call('HSTRLEN', log.events, field)
    if size > log.room then
      local apart = with_payload and redis.call('HSTRLEN', log.events, field .. '/p') or 0
      return with_payload and size or -size, apart > 0 and apart
    end
    log.room = log.room - size
  end
  local record = redis.call('HGET', log.events, field)
  if not record then
    return false, false
  end
  if not with_payload then
    return bare(record), false
  end
  if not split(record) then
    return record, false
  end
  if log.room then
    local size = redis.call('HSTRLEN', log.events, field .. '/p')
    if size > log.room then
      return record, size
    end
    log.room = log.room - size
  end
  return record, redis.call('HGET', log.events, field .. '/p')
end

-- has_end reports whether the log has an event, given as @<createdAt>@<position>; without the time any event will do.
-- log.count and log.last describe the last event: if that is the one, there is nothing to read.
local function has_end(log, seen)
  -- All times have 13 digits, so that the places are known. A search and sums that become keys take twice as long, and this is
  -- done for most events of a fan-out.
  local created, position = string.sub(seen, 2, 14), string.sub(seen, 16)
  if created == log.last and log.count - 1 == tonumber(position) then
    return true
  end
  if string.byte(seen, 2) == 64 then -- @@<position>
    return tonumber(log.count) > tonumber(string.sub(seen, 3))
  end
  local record = redis.call('HGET', log.events, position)
  return record and string.sub(record, 1, 13) == created
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

-- lost stops the script: the log counts an event that is not there. storage/lost.go knows the text.
local function lost(position)
  error('EVENTLOST at ' .. position)
end

-- reader returns the functions event_at and page. A call that reads nothing does not create them: Redis creates, at each call,
-- every function that the script reaches.
local function reader()
  -- event_at returns the record at a position, and its payload or false. An event that is lost stops the script.
  local function event_at(log, position, with_payload)
    local record, payload = load_record(log, position, with_payload)
    return record or lost(position), payload
  end

  -- page returns {record, payload or false, record, ...} of the events at positions first..last, which are in the log (first >
  -- last: backwards). It stops before max_bytes are exceeded, but not before at_least events. What exceeds PAGE_ROOM is
  -- replaced by its length, as in load_record. It makes at most two calls an event, and two for every 500.
  local function page(log, first, last, max_bytes, at_least, with_payload)
    with_payload = with_payload and not log.purged
    local out, n, bytes, room = {}, 0, 0, PAGE_ROOM
    local step = first > last and -1 or 1
    local position, full = first, false
    while not full and (last - position) * step >= 0 do
      -- The lengths come first, so that nothing is read that is not returned.
      local fields, sizes, apart, asked, ahead = {}, {}, {}, {}, bytes
      for i = 1, math.min(500, (last - position) * step + 1) do
        local field = string.format('%d', position)
        local size = redis.call('HSTRLEN', log.events, field)
        if size == 0 then
          lost(field)
        end
        ahead = ahead + size
        if ahead > max_bytes and n / 2 + i > at_least then
          full = true
          break
        end
        fields[i], sizes[i] = field, size
        if size > room then
          apart[i] = true
        else
          room = room - size
          asked[#asked + 1] = field
        end
        position = position + step
      end
      local records = #asked > 0 and redis.call('HMGET', log.events, unpack(asked))
      local next_record, payloads, places = 1, {}, {}
      for i = 1, #fields do
        local record, payload, has_payload = with_payload and sizes[i] or -sizes[i], false, true
        bytes = bytes + sizes[i]
        if not apart[i] then
          record = records[next_record]
          next_record = next_record + 1
          has_payload = split(record)
          if not with_payload then
            record = bare(record)
          end
        end
        if with_payload and has_payload then
          local size = redis.call('HSTRLEN', log.events, fields[i] .. '/p')
          bytes = bytes + size
          if bytes > max_bytes and n / 2 >= at_least then
            full = true
            break
          end
          if size > room then
            payload = size
          elseif size > 0 then
            payloads[#payloads + 1], places[#places + 1] = fields[i] .. '/p', n + 2
            room = room - size
          end
        end
        out[n + 1], out[n + 2] = record, payload
        n = n + 2
      end
      if #payloads > 0 then
        for i, payload in ipairs(redis.call('HMGET', log.events, unpack(payloads))) do
          out[places[i]] = payload
        end
      end
    end
    return out
  end

  return event_at, page
end
