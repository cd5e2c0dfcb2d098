local function split(record)
  local kind, digit = string.byte(record, 14), string.byte(record, 13)
  if kind == 46 then
    kind = string.byte(record, 15)
  end
  if not kind or kind < 65 or digit < 48 or digit > 57 then
    kind = string.byte(record, (string.find(record, '%a')))
  end
  return kind < 97
end
local function bare(record)
  local _, stop, size = string.find(record, '^%d+%.?%a(%d+):')
  return string.sub(record, 1, stop + size)
end
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
local function has_end(log, seen)
  if log.last and seen == '@' .. log.count .. '@' .. log.last then
    return true
  end
  local at = string.find(seen, '@', 2, true)
  local count, created = tonumber(string.sub(seen, 2, at - 1)), string.sub(seen, at + 1)
  local more = log.count - count
  if more < 0 or created == '' then
    return more >= 0
  end
  local record = redis.call('HGET', log.events, count - 1)
  return record and string.sub(record, 1, #created) == created
end
local function lost(position)
  error('EVENTLOST at ' .. position)
end
local function reader()
  local function event_at(log, position, with_payload)
    local record, payload = load_record(log, position, with_payload)
    return record or lost(position), payload
  end
  local function page(log, first, last, max_bytes, at_least, with_payload)
    with_payload = with_payload and not log.purged
    local out, n, bytes, room = {}, 0, 0, 1048576
    local step = first > last and -1 or 1
    local position, full = first, false
    while not full and (last - position) * step >= 0 do
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
local log = {run = KEYS[1], events = KEYS[2]}
local first = tonumber(ARGV[1])
local count = tonumber(ARGV[2])
local backwards = ARGV[3] == '1'
local max_bytes = tonumber(ARGV[4])
local at_least = tonumber(ARGV[5])
local with_payload = ARGV[6] == 'all'
local after = ARGV[7]
local state = redis.call('HMGET', log.run, 'en', 'x', 'et')
local total = tonumber(state[1] or 0)
log.purged, log.count, log.last = state[2], state[1] or '0', state[3]
if after ~= '' and not has_end(log, after) then
  return {-19}
end
if backwards and first < 0 then
  first = total - 1
end
if first < 0 or first >= total then
  return {0, total, first, {}}
end
local last = backwards and math.max(0, first - count + 1) or math.min(total, first + count) - 1
local _, page = reader()
return {0, total, first, page(log, first, last, max_bytes, at_least, with_payload)}
