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
local function leave(left_key, hooks)
  if #hooks > 0 then
    redis.call('HSET', left_key, unpack(hooks))
  end
  if redis.call('HLEN', left_key) <= 500 then
    return redis.call('HGETALL', left_key)
  end
  local cursor, some = '0', {}
  for _ = 1, 100 do
    local page = redis.call('HSCAN', left_key, cursor, 'COUNT', 500)
    cursor, some = page[1], page[2]
    if #some > 0 or cursor == '0' then
      break
    end
  end
  some[#some + 1] = ''
  return some
end
local function try_leaving(hooks_key, hooks_order, left_key)
  if redis.call('EXISTS', hooks_key, left_key) == 0 then
    return
  end
  redis.call('HDEL', hooks_key, '')
  redis.call('ZREM', hooks_order, '')
  if redis.call('HLEN', hooks_key) + redis.call('HLEN', left_key) > 500 then
    redis.call('HSCAN', left_key, '0')
  else
    redis.call('HGETALL', left_key)
  end
end
local function leave_all(hooks_key, hooks_order, left_key, now)
  if redis.call('EXISTS', hooks_key, left_key) == 0 then
    return {}, false
  end
  if redis.call('HLEN', hooks_key) > 500 then
    return leave(left_key, {}), true
  end
  local hooks, gone, gone_ids = redis.call('HGETALL', hooks_key), {}, {}
  for i = 1, #hooks, 2 do
    if not retained(hooks[i + 1], now) then
      gone[#gone + 1] = hooks[i]
      gone[#gone + 1] = hooks[i + 1]
      gone_ids[#gone_ids + 1] = hooks[i]
    end
  end
  if #gone_ids > 0 then
    redis.call('HDEL', hooks_key, unpack(gone_ids))
    redis.call('ZREM', hooks_order, unpack(gone_ids))
  end
  return leave(left_key, gone), false
end
local log = {run = KEYS[1], events = KEYS[2]}
local hooks_key = KEYS[3]
local hooks_order = KEYS[4]
local left_key = KEYS[5]
local channel = KEYS[6]
local now = ARGV[1]
local with_payload = ARGV[2] == 'all'
local status = redis.call('HGET', log.run, 's')
if not status then
  return {-1}
end
if status == 'completed' or status == 'failed' then
  return {-3, status}
end
if status == 'cancelled' then
  return {0, entity(log, log.run, with_payload), leave(left_key, {})}
end
redis.call('HGETALL', log.run)
try_leaving(hooks_key, hooks_order, left_key)
redis.call('HSET', log.run, 's', 'cancelled', 'u', now, 'ca', now)
local left, many = leave_all(hooks_key, hooks_order, left_key, now)
if many then
  redis.call('HSET', log.run, 'cl', '0')
end
local reply = {0, entity(log, log.run, with_payload), left}
redis.pcall('PUBLISH', channel, 'cancelled')
return reply
