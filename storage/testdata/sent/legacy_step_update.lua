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
local log = {run = KEYS[1], events = KEYS[2]}
local request = {now = KEYS[3], before = KEYS[4], id = ARGV[1]}
local now = ARGV[2]
local with_payload = ARGV[3] == 'all'
local function remembered()
  return redis.call('HGET', request.now, request.id) or redis.call('HGET', request.before, request.id)
end
local function try_remembering()
  redis.call('EXPIRE', request.now, 1200)
  redis.call('HMGET', log.run, '')
  redis.call('HEXISTS', log.run, '')
end
local function remember(what)
  redis.call('HSET', request.now, request.id, what)
  redis.call('EXPIRE', request.now, 1200)
end
local function scalars(key)
  local values = redis.call('HMGET', key, 's', 'u', 'sa', 'ca', 'a', 'ra')
  for i = 1, 6 do
    values[i] = values[i] or '-'
  end
  values[7] = redis.call('HEXISTS', key, 'out') == 1 and '+' or '-'
  values[8] = redis.call('HEXISTS', key, 'er') == 1 and '+' or '-'
  return table.concat(values, ' ')
end
local function later(last)
  if last and tonumber(last) > tonumber(now) then
    return last
  end
  return now
end
local function ended(status)
  return status == 'completed' or status == 'failed' or status == 'cancelled'
end
local function legacy_run()
  local state = redis.call('HMGET', log.run, 's', 'v')
  if not state[1] then
    return nil, {-1}
  end
  local spec = tonumber(state[2] or 0)
  if spec > 1 then
    return nil, {-40, spec}
  end
  return state[1]
end
local step_key = KEYS[5]
local new_status = ARGV[4]
local attempt = ARGV[5]
local output = ARGV[6]
local error = ARGV[7]
local retry_after = ARGV[8]
local first = remembered()
if first then
  return {1, entity(log, step_key, with_payload), first}
end
local run_status, refusal = legacy_run()
if not run_status then
  return refusal
end
local state = redis.call('HMGET', step_key, 's', 'u', 'sa')
local status, last = state[1], state[2]
if not status then
  return {-8}
end
if ended(status) then
  return {-42, status}
end
local at = later(last)
local changes = {'u', at}
local function change(field, value)
  if value ~= '' then
    changes[#changes + 1] = field
    changes[#changes + 1] = value
  end
end
change('s', new_status)
if new_status == 'running' and not state[3] then
  change('sa', at)
elseif ended(new_status) then
  change('ca', at)
end
change('a', attempt)
change('out', output)
change('er', error)
change('ra', retry_after)
try_remembering()
redis.call('HGETALL', step_key)
redis.call('HSET', step_key, unpack(changes))
remember(scalars(step_key))
return {0, entity(log, step_key, with_payload)}
