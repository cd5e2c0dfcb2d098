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
local function append(log, event)
  local position, created = log.count, event.now
  if log.last and tonumber(log.last) > tonumber(created) then
    created = log.last
  end
  log.stamp = log.spec >= 6 and created .. '.' or created
  local record = log.stamp .. event.record
  if log.purged then
    record = bare(record)
  end
  local held = log.held
  if held then
    local n = #held.fields
    held.fields[n + 1], held.fields[n + 2] = position, record
    if event.payload ~= '' and not log.purged then
      redis.call('HSET', log.events, position .. '/p', event.payload)
    end
  elseif event.payload == '' or log.purged then
    redis.call('HSET', log.events, position, record)
  else
    redis.call('HSET', log.events, position, record, position .. '/p', event.payload)
  end
  if event.correlation ~= '' then
    local member = event.correlation .. '/' .. string.format('%07d', position)
    if held then
      held.related[#held.related + 1] = '0'
      held.related[#held.related + 1] = member
    else
      redis.call('ZADD', log.related, '0', member)
    end
  end
  log.count, log.last = string.format('%d', position + 1), created
  return created, position
end
local function set_run(log, ...)
  redis.call('HSET', log.run, 'en', log.count, 'et', log.last, ...)
  log.told = log.count
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
local function step_of(key)
  return redis.call('HMGET', key, 's', 'a', 'u', 'sa', 'ca', 'ra', 'ie', 'oe', 'ee')
end
local function tell_step(log, out, step, own, with_payload)
  local n = #out
  for i = 1, 9 do
    out[n + i] = step[i]
  end
  local input, output, failure = step[7], step[8], step[9]
  if input and input ~= own then
    refer(log, out, input, with_payload)
  end
  if failure and failure ~= own then
    refer(log, out, failure, true)
  end
  if output and output ~= own and with_payload then
    refer(log, out, output, true)
  end
  return out
end
local log = {run = KEYS[1], events = KEYS[2], related = KEYS[3], status = false, spec = 0, purged = false, count = '0',
  last = false, told = '0', first_bucket = false, earlier_bucket = false, expires = false, new_bucket = false, stamp = false}
local request = {now = KEYS[4], before = KEYS[5], id = ARGV[1]}
local event = {now = ARGV[2], correlation = ARGV[3], record = ARGV[4], payload = ARGV[5]}
local with_payload = ARGV[6] == 'all'
local asked, seen = ARGV[7], false
local seen_at = string.find(asked, '@', 1, true)
if seen_at == 1 then
  seen = asked
  asked = ''
elseif seen_at then
  seen = string.sub(asked, seen_at)
  asked = string.sub(asked, 1, seen_at - 1)
end
local bucket = math.floor(event.now / 600000)
local function first_bucket()
  return string.format('%d', bucket - redis.call('EXISTS', request.before))
end
local function try_memory()
  if not log.has_memory then
    redis.call('ZADD', log.related, 'XX', '0', '')
    log.has_memory = true
  end
end
local function try_remembering()
  if not log.first_bucket or bucket < tonumber(log.first_bucket) then
    log.earlier_bucket = first_bucket()
  end
  if not log.expires then
    log.new_bucket = not log.status or redis.call('HLEN', request.now) == 0
    if log.new_bucket then
      try_memory()
      redis.call('EXPIRE', request.now, '1200')
    end
  end
end
local function read_run()
  local state = redis.call('HMGET', log.run, 's', 'v', 'x', 'en', 'et', 'rb')
  log.status, log.spec = state[1], tonumber(state[2] or 0)
  log.purged = state[3]
  log.count, log.last = state[4] or '0', state[5]
  log.told, log.first_bucket = log.count, state[6]
  log.expires = state[6] and tonumber(state[6]) == bucket
  try_remembering()
end
local function news(last)
  if asked == '' then
    return false
  end
  local first = tonumber(string.sub(asked, 2)) + 1
  if first > last then
    return {0}
  end
  local _, page = reader()
  local told = page(log, first, math.min(last, first + 800 - 1), 4194304, 0, with_payload)
  table.insert(told, 1, last - first + 1)
  return told
end
local function remembered()
  local value = redis.call('HGET', request.now, request.id)
  if not value and (not log.first_bucket or bucket > tonumber(log.first_bucket)) then
    value = redis.call('HGET', request.before, request.id)
  end
  return value
end
local function demand_end()
  if seen and log.status and not has_end(log, seen) then
    error('LOGENDS after ' .. log.count .. ' events, and not with ' .. seen)
  end
end
local function replayed()
  local value = remembered()
  if not value then
    demand_end()
    return nil
  end
  local position, note = string.match(value, '^(%d+) ?(%d*)$')
  local event_at = reader()
  local record, payload = event_at(log, position, true)
  return {1, record, payload, position, note, news(tonumber(position) - 1)}
end
local function remember(value)
  if log.count ~= '0' and log.earlier_bucket then
    set_run(log, 'rb', log.earlier_bucket)
  elseif log.told ~= log.count then
    set_run(log)
  end
  redis.call('HSET', request.now, request.id, value)
  if log.new_bucket then
    redis.call('EXPIRE', request.now, '1200')
  end
end
local function finish(reply)
  if reply[1] == 0 then
    local position = reply[3]
    remember(reply.note and (position .. ' ' .. reply.note) or position)
    reply[2], reply[4] = log.stamp, asked ~= '' and news(position - 1)
  end
  return reply
end
local function ended(status)
  return status == 'completed' or status == 'failed' or status == 'cancelled'
end
local function refused(spec)
  if spec > 7 then
    return {-6, spec}
  end
  if spec <= 1 then
    return {-7, spec}
  end
  return nil
end
local function step_end(item, step_key, new_status, reference, consults_run)
  local status = log.status
  local refusal = consults_run and status and refused(log.spec)
  if refusal then
    return refusal
  end
  local step = item.step or step_of(step_key)
  local step_status, attempt = step[1], step[2]
  if not step_status then
    if consults_run and ended(status) then
      return {-4, status}
    end
    return {-8}
  end
  if ended(step_status) then
    return {-10, step_status}
  end
  if consults_run and ended(status) and step_status ~= 'running' then
    return {-4, status}
  end
  local created, position = append(log, item)
  step[1], step[3], step[5], step[reference == 'oe' and 8 or 9] = new_status, created, created, position
  redis.call('HSET', step_key, 's', new_status, 'u', created, 'ca', created, reference, position)
  return tell_step(log, {0, created, position, false, note = attempt}, step, position, with_payload)
end
local step_key = KEYS[6]
local new_status = ARGV[8]
local reference = ARGV[9]
local consults_run = ARGV[10] == '1'
read_run()
local first = replayed()
if first then
  return tell_step(log, first, step_of(step_key), '', with_payload)
end
return finish(step_end(event, step_key, new_status, reference, consults_run))
