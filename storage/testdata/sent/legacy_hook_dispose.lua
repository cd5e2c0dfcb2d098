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
local function legacy_hook(log, hook, with_payload)
  return load_record(log, 'hook/' .. hook, with_payload)
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
local hooks_key = KEYS[5]
local hooks_order = KEYS[6]
local left_key = KEYS[7]
local hook = ARGV[4]
if remembered() then
  local record, payload = legacy_hook(log, hook, with_payload)
  return {1, record, payload, leave(left_key, {})}
end
local status, refusal = legacy_run()
if not status then
  return refusal
end
local live = redis.call('HGET', hooks_key, hook)
if not live or string.match(live, '^%d+') ~= '9999999' then
  return {-12}
end
try_remembering()
try_leaving(hooks_key, hooks_order, left_key)
local record, payload = legacy_hook(log, hook, with_payload)
redis.call('HSET', left_key, hook, live)
redis.call('HDEL', hooks_key, hook)
redis.call('ZREM', hooks_order, hook)
remember('')
return {0, record, payload, leave(left_key, {})}
