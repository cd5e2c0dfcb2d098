local function kind_of(record)
  return string.match(record, '%a')
end
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
local STEP_STATUS = {g = 'pending', h = 'running', i = 'pending', j = 'completed', k = 'failed'}
local function kind_at(log, position)
  local event_at = reader()
  return string.lower(kind_of((event_at(log, position, false))))
end
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
local log = {run = KEYS[1], events = KEYS[2], related = KEYS[3]}
local step_key = KEYS[4]
local steps_key = KEYS[5]
local step_id = ARGV[1]
local count = tonumber(ARGV[2])
local after = ARGV[3]
if tonumber(redis.call('HGET', log.run, 'v') or 0) <= 1 then
  return {2}
end
local wrong, has_events = step_wrong(log, step_key, step_id)
if not wrong then
  return {2}
end
if not has_events then
  redis.call('ZREM', steps_key, '')
  redis.call('DEL', step_key)
  redis.call('ZREM', steps_key, step_id)
  return {0}
end
local fields = {}
for i = 4, #ARGV, 2 do
  fields[ARGV[i]] = ARGV[i + 1]
end
local attempt = tonumber(fields.a or 0)
local from = after == '' and '[' .. step_id .. '/' or '(' .. step_id .. '/' .. string.format('%07d', after)
local page = redis.call('ZRANGEBYLEX', log.related, from, '(' .. step_id .. '0', 'LIMIT', 0, count)
local positions, bytes = {}, 0
for i, member in ipairs(page) do
  local position = string.match(member, '0*(%d+)$', #step_id + 2)
  bytes = bytes + redis.call('HSTRLEN', log.events, position)
  if bytes > 1048576 and i > 1 then
    break
  end
  positions[i] = position
end
local records = #positions > 0 and redis.call('HMGET', log.events, unpack(positions))
for i, position in ipairs(positions) do
  local record = records[i] or lost(position)
  local kind, at = string.lower(kind_of(record)), string.match(record, '^%d+')
  fields.s, fields.u = STEP_STATUS[kind] or fields.s, at
  if kind == 'g' then
    fields.ie, fields.cr = position, at
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
fields.a = string.format('%d', attempt)
local created, flat = fields.cr, {}
local more = #page == count or #positions < #page
if not more then
  fields.cr = nil
end
for field, value in pairs(fields) do
  flat[#flat + 1], flat[#flat + 2] = field, value
end
if more then
  return {0, positions[#positions], flat}
end
local gone = {}
for _, field in ipairs(redis.call('HKEYS', step_key)) do
  if not fields[field] then
    gone[#gone + 1] = field
  end
end
redis.call('HDEL', step_key, '')
redis.call('ZADD', steps_key, 'NX', created, step_id)
redis.call('HSET', step_key, unpack(flat))
if #gone > 0 then
  redis.call('HDEL', step_key, unpack(gone))
end
return {0}
