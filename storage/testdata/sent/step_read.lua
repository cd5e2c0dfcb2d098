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
local function fields_of(key)
  local flat, fields = redis.call('HGETALL', key), {}
  for i = 1, #flat, 2 do
    fields[flat[i]] = flat[i + 1]
  end
  return fields
end
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
local step_key = KEYS[1]
local log = {run = KEYS[2], events = KEYS[3], room = tonumber(ARGV[2])}
local with_payload = ARGV[1] == 'all'
local fields = fields_within(log, step_key)
if not fields then
  return {-8}
end
log.purged = redis.call('HGET', log.run, 'x')
return {0, tell(log, {}, fields, '', with_payload)}
