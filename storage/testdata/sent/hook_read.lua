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
local function fields_of(key)
  local flat, fields = redis.call('HGETALL', key), {}
  for i = 1, #flat, 2 do
    fields[flat[i]] = flat[i + 1]
  end
  return fields
end
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
local function tell(log, out, fields, own, with_payload)
  fields.en, fields.et, fields.rb = nil, nil, nil
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
local function entity(log, key, with_payload)
  return tell(log, {}, fields_of(key), '', with_payload)
end
local function retained(hook, now)
  local until_ms = string.match(hook, '^%d+ %S+ %S+ (%d+)$')
  return until_ms and tonumber(until_ms) > tonumber(now)
end
local function hook_lives(hook, run_status, now)
  if not hook then
    return false
  end
  local over = run_status == 'completed' or run_status == 'failed' or run_status == 'cancelled'
  return not over or retained(hook, now)
end
local function legacy_hook(log, hook, with_payload)
  return load_record(log, 'hook/' .. hook, with_payload)
end
local hooks_key = KEYS[1]
local log = {events = KEYS[2], run = KEYS[3], room = tonumber(ARGV[5])}
local hook_id = ARGV[1]
local with_payload = ARGV[2] == 'all'
local now = ARGV[3]
local want_run = ARGV[4] == '1'
local hook = redis.call('HGET', hooks_key, hook_id)
local state = redis.call('HMGET', log.run, 's', 'x')
log.purged = state[2]
if not hook_lives(hook, state[1], now) then
  return {-12}
end
local run = want_run and entity(log, log.run, false)
local position, created = string.match(hook, '^%d+'), nil
if position == '9999999' then
  created = {position, legacy_hook(log, hook_id, with_payload)}
else
  local event_at = reader()
  created = {position, event_at(log, position, with_payload)}
end
return {0, hook, created, run}
