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
local function child_refused()
  if not log.status then
    return {-1}
  end
  local refusal = refused(log.spec)
  if not refusal and ended(log.status) then
    refusal = {-5, log.status}
  end
  return refusal
end
local function step_create(item, step_key, steps_key)
  local refusal = child_refused()
  if refusal then
    return refusal
  end
  local exists = item.exists
  if exists == nil then
    exists = redis.call('EXISTS', step_key) == 1
  end
  if exists then
    return {-9}
  end
  local created, position = append(log, item)
  redis.call('HSET', step_key, 's', 'pending', 'a', '0', 'u', created, 'ie', position)
  redis.call('ZADD', steps_key, created, item.correlation)
  local step = {'pending', '0', created, false, false, false, position, false, false}
  return tell_step(log, {0, created, position, false}, step, position, with_payload)
end
local function step_start(item, step_key)
  local status = log.status
  local refusal = status and refused(log.spec)
  if refusal then
    return refusal
  end
  local step = item.step or step_of(step_key)
  local step_status, attempt, started, retry_after = step[1], step[2], step[4], step[6]
  if not step_status then
    if ended(status) then
      return {-4, status}
    end
    return {-8}
  end
  if ended(step_status) then
    return {-10, step_status}
  end
  if ended(status) and (log.spec >= 4 or step_status ~= 'running') then
    return {-4, status}
  end
  if retry_after and tonumber(retry_after) > tonumber(item.now) then
    return {-11, retry_after}
  end
  if retry_after and not log.held then
    try_memory()
    redis.call('HDEL', step_key, '')
  end
  local created, position = append(log, item)
  if retry_after then
    redis.call('HDEL', step_key, 'ra')
  end
  attempt, started = string.format('%d', attempt + 1), started or created
  step[1], step[2], step[3], step[4], step[6] = 'running', attempt, created, started, false
  redis.call('HSET', step_key, 's', 'running', 'a', attempt, 'u', created, 'sa', started)
  return tell_step(log, {0, created, position, false, note = attempt}, step, position, with_payload)
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
local function step_retry(item, step_key, retry_after)
  local step = item.step or step_of(step_key)
  local step_status, attempt = step[1], step[2]
  if not step_status then
    return {-8}
  end
  if ended(step_status) then
    return {-10, step_status}
  end
  local clears = retry_after == '' and step[6]
  if clears and not log.held then
    try_memory()
    redis.call('HDEL', step_key, '')
  end
  local created, position = append(log, item)
  step[1], step[3], step[6], step[9] = 'pending', created, retry_after ~= '' and retry_after, position
  if retry_after == '' then
    redis.call('HSET', step_key, 's', 'pending', 'u', created, 'ee', position)
    if clears then
      redis.call('HDEL', step_key, 'ra')
    end
  else
    redis.call('HSET', step_key, 's', 'pending', 'u', created, 'ee', position, 'ra', retry_after)
  end
  return tell_step(log, {0, created, position, false, note = attempt}, step, position, with_payload)
end
local function wait_create(item)
  local refusal = child_refused()
  if refusal then
    return refusal
  end
  if related_position(log, item.correlation, false) then
    return {-17}
  end
  local created, position = append(log, item)
  return {0, created, position, false}
end
local function first_event(correlation)
  local position = related_position(log, correlation, false)
  if not position then
    return false
  end
  local event_at = reader()
  return {position, event_at(log, position, true)}
end
local function read_wait(correlation)
  local created = first_event(correlation)
  if not created or kind_of(created[2]) ~= 'p' then
    return false
  end
  local event_at = reader()
  return created, kind_of((event_at(log, related_position(log, correlation, true), false)))
end
local function wait_complete(item)
  local refusal = log.status and refused(log.spec)
  if refusal then
    return refusal
  end
  local created, last = item.wait, item.last
  if created == nil then
    created, last = read_wait(item.correlation)
  end
  if not created then
    return {-16}
  end
  if last == 'q' then
    return {-18}
  end
  if ended(log.status) then
    return {-16}
  end
  local now, position = append(log, item)
  return {0, now, position, false, created}
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
local function purge(log, first, last)
  local fields, bared, split_off = {}, {}, {}
  for position = first, last do
    fields[#fields + 1] = string.format('%d', position)
  end
  if #fields == 0 then
    return
  end
  local records = redis.call('HMGET', log.events, unpack(fields))
  for i = 1, #fields do
    if records[i] then
      if split(records[i]) then
        split_off[#split_off + 1] = fields[i] .. '/p'
      end
      bared[#bared + 1] = fields[i]
      bared[#bared + 1] = bare(records[i])
    end
  end
  if #split_off > 0 then
    redis.call('HDEL', log.events, '')
  end
  if #bared > 0 then
    redis.call('HSET', log.events, unpack(bared))
  end
  if #split_off > 0 then
    redis.call('HDEL', log.events, unpack(split_off))
  end
end
local function run_end(item, run, new_status, reference, hooks_key, hooks_order, left_key)
  local status = log.status
  if not status then
    return {-1}
  end
  local refusal = refused(log.spec)
  if refusal then
    return refusal
  end
  if status == 'cancelled' and new_status == 'cancelled' then
    local left = leave(left_key, {})
    local again, position = append(log, item)
    return tell(log, {0, again, position, false, left}, run, position, with_payload)
  end
  if ended(status) then
    return {-3, status}
  end
  local keeps_nothing = run['@$retention'] == '0'
  log.purged = keeps_nothing
  try_memory()
  try_leaving(hooks_key, hooks_order, left_key)
  if keeps_nothing then
    redis.call('HDEL', log.events, '')
    redis.call('HMGET', log.run, 's')
  end
  local created, position = append(log, item)
  log.status = new_status
  run.s, run.u, run.ca = new_status, created, created
  if reference == '' then
    set_run(log, 's', new_status, 'u', created, 'ca', created)
  else
    run[reference] = position
    set_run(log, 's', new_status, 'u', created, 'ca', created, reference, position)
  end
  local left, many = leave_all(hooks_key, hooks_order, left_key, item.now)
  if keeps_nothing then
    run.x = created
    redis.call('HSET', log.run, 'x', created)
    if tonumber(position) < 500 then
      purge(log, 0, tonumber(position))
    else
      many = true
    end
  end
  if many then
    run.cl = '0'
    redis.call('HSET', log.run, 'cl', '0')
  end
  return tell(log, {0, created, position, false, left}, run, position, with_payload)
end
local function announce_end(channel, reply)
  if reply[1] == 0 then
    redis.pcall('PUBLISH', channel, log.status)
  end
  return reply
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
local function write_held(log)
  local held = log.held
  if #held.fields > 0 then
    redis.call('HSET', log.events, unpack(held.fields))
  end
  if #held.related > 0 then
    redis.call('ZADD', log.related, unpack(held.related))
  end
  held.fields, held.related = {}, {}
end
local function read_events(log, positions)
  local records, payloads, apart = {}, {}, {}
  for i, record in ipairs(#positions > 0 and redis.call('HMGET', log.events, unpack(positions)) or {}) do
    records[positions[i]] = record or lost(positions[i])
    if not log.purged and split(record) then
      apart[#apart + 1] = positions[i]
    elseif log.purged then
      records[positions[i]] = bare(record)
    end
  end
  local fields = {}
  for i, position in ipairs(apart) do
    fields[i] = position .. '/p'
  end
  for i, payload in ipairs(#fields > 0 and redis.call('HMGET', log.events, unpack(fields)) or {}) do
    payloads[apart[i]] = payload
  end
  return records, payloads
end
local function read_later(log, room)
  local fields, places = {}, {}
  for _, one in ipairs(log.later) do
    local out, at, with_payload = one.out, one.at, one.with_payload and not log.purged
    local size = redis.call('HSTRLEN', log.events, one.position)
    if size > room then
      local apart = with_payload and redis.call('HSTRLEN', log.events, one.position .. '/p') or 0
      out[at], out[at + 1] = with_payload and size or -size, apart > 0 and apart
    elseif size > 0 then
      room = room - size
      fields[#fields + 1], places[#places + 1] = one.position, one
    end
  end
  if #fields == 0 then
    return
  end
  local payloads, payload_places = {}, {}
  for i, record in ipairs(redis.call('HMGET', log.events, unpack(fields))) do
    local one = places[i]
    local out, at = one.out, one.at
    if not one.with_payload or log.purged then
      out[at] = bare(record)
    else
      out[at] = record
      local field = one.position .. '/p'
      local size = split(record) and redis.call('HSTRLEN', log.events, field) or 0
      if size > room then
        out[at + 1] = size
      elseif size > 0 then
        room = room - size
        payloads[#payloads + 1], payload_places[#payload_places + 1] = field, one
      end
    end
  end
  if #payloads > 0 then
    for i, payload in ipairs(redis.call('HMGET', log.events, unpack(payloads))) do
      local one = payload_places[i]
      one.out[one.at + 1] = payload
    end
  end
end
local hooks_key = KEYS[6]
local hooks_order = KEYS[7]
local left_key = KEYS[8]
local channel = KEYS[9]
local steps_key = KEYS[10]
local replies = {}
local function end_run(item, status, reference)
  write_held(log)
  return run_end(item, fields_of(log.run), status, reference, hooks_key, hooks_order, left_key)
end
local apply = {
  step_created = function(item) return step_create(item, item.step_key, steps_key) end,
  step_started = function(item)
    local created = item.extra ~= '' and replies[tonumber(item.extra)]
    if created and created[1] ~= 0 then
      return created
    end
    return step_start(item, item.step_key)
  end,
  step_completed = function(item) return step_end(item, item.step_key, 'completed', 'oe', false) end,
  step_failed = function(item) return step_end(item, item.step_key, 'failed', 'ee', true) end,
  step_retrying = function(item) return step_retry(item, item.step_key, item.extra) end,
  wait_created = wait_create,
  wait_completed = wait_complete,
  run_completed = function(item) return end_run(item, 'completed', 'oe') end,
  run_failed = function(item) return end_run(item, 'failed', 'ee') end,
}
local function again(items, kept)
  local positions = {}
  for i = 1, #items do
    local code, detail = string.match(kept[i], '^!(%-%d+) (.*)$')
    if code then
      replies[i] = {tonumber(code), detail}
    else
      local position, note = string.match(kept[i], '^(%d+) (%d*)$')
      positions[#positions + 1] = position
      replies[i] = {1, false, false, position, note, false}
    end
  end
  local records, payloads = read_events(log, positions)
  for i, item in ipairs(items) do
    local first = replies[i]
    if first[1] == 1 then
      first[2], first[3] = records[first[4]], payloads[first[4]] or false
      if string.sub(item.type, 1, 4) == 'step' then
        tell_step(log, first, step_of(item.step_key), '', with_payload)
      elseif item.type == 'wait_completed' then
        first[7] = first_event(item.correlation)
      elseif item.type ~= 'wait_created' then
        first[7] = leave(left_key, {})
        tell(log, first, fields_of(log.run), '', with_payload)
      end
    end
  end
end
local function look(item)
  if item.type == 'wait_completed' then
    item.wait, item.last = read_wait(item.correlation)
  elseif item.type == 'step_created' then
    item.exists = redis.call('EXISTS', item.step_key) == 1
    return item.exists
  elseif string.sub(item.type, 1, 4) == 'step' and (item.type ~= 'step_started' or item.extra == '') then
    item.step = step_of(item.step_key)
    return not item.step[1] or ended(item.step[1])
  end
end
local function try_all()
  local nothing = '[/'
  try_memory()
  redis.call('HDEL', log.run, '')
  redis.call('DEL', channel)
  redis.call('ZREM', steps_key, '')
  redis.call('EXISTS', log.run)
  redis.call('HSTRLEN', log.run, '')
  redis.call('HMGET', log.run, '')
  redis.call('HKEYS', left_key)
  redis.call('HGETALL', left_key)
  redis.call('HLEN', left_key)
  redis.call('HSCAN', left_key, '0', 'COUNT', 1)
  redis.call('ZRANGEBYLEX', log.related, nothing, nothing)
  redis.call('ZREVRANGEBYLEX', log.related, nothing, nothing)
end
log.later, log.held = {}, {fields = {}, related = {}}
read_run()
local status_before = log.status
local before = remembered()
local items, kept = {}, {}
for i = 1, (#ARGV - 7) / 5 do
  local at = 7 + 5 * (i - 1)
  items[i] = {
    now = event.now, type = ARGV[at + 1], correlation = ARGV[at + 2],
    record = ARGV[at + 3], payload = ARGV[at + 4], extra = ARGV[at + 5], step_key = KEYS[10 + i],
  }
end
if before then
  for one in string.gmatch(before, '([^;]*);') do
    kept[#kept + 1] = one
  end
  again(items, kept)
  read_later(log, 1048576)
  return {1, replies}
end
demand_end()
local wrong = {}
for _, item in ipairs(items) do
  if look(item) and log.spec > 1 and step_wrong(log, item.step_key, item.correlation) then
    wrong[#wrong + 1] = item.correlation
  end
end
if #wrong > 0 then
  return {4, wrong}
end
try_all()
for i, item in ipairs(items) do
  local reply = apply[item.type](item)
  replies[i] = reply
  if reply[1] == 0 then
    reply[2] = log.stamp
    kept[i] = reply[3] .. ' ' .. (reply.note or '') .. ';'
  else
    kept[i] = '!' .. reply[1] .. ' ' .. (reply[2] or '') .. ';'
  end
end
write_held(log)
read_later(log, 1048576)
remember(table.concat(kept))
if ended(log.status) and not ended(status_before) then
  announce_end(channel, {0})
end
return {0, replies}
