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
local function retained(hook, now)
  local until_ms = string.match(hook, '^%d+ %S+ %S+ (%d+)$')
  return until_ms and tonumber(until_ms) > tonumber(now)
end
local log = {run = KEYS[1], events = KEYS[2]}
local hooks_key = KEYS[3]
local hooks_order = KEYS[4]
local now = ARGV[1]
local most_events = tonumber(ARGV[2])
local most_hooks = tonumber(ARGV[3])
local state = redis.call('HMGET', log.run, 's', 'cl', 'ch', 'x', 'en')
if not state[1] then
  return {-1}
end
if not state[2] then
  return {2}
end
local first, last = tonumber(state[2]), tonumber(state[5] or 0) - 1
if state[4] and first <= last then
  last = math.min(last, first + most_events - 1)
  purge(log, first, last)
  redis.call('HSET', log.run, 'cl', string.format('%d', last + 1))
  return {0, 1, {}}
end
local rank = state[3] and redis.call('ZRANK', hooks_order, state[3])
local from = rank and rank + 1 or 0
local ids = redis.call('ZRANGE', hooks_order, from, from + most_hooks - 1)
if #ids == 0 then
  return {0, 0, {}}
end
local hooks = redis.call('HMGET', hooks_key, unpack(ids))
local gone, nobody, passed = {}, {}, false
for i, id in ipairs(ids) do
  if not hooks[i] then
    nobody[#nobody + 1] = id
  elseif not retained(hooks[i], now) then
    gone[#gone + 1] = id
    gone[#gone + 1] = hooks[i]
  elseif #gone == 0 then
    passed = id
  end
end
if #nobody > 0 then
  redis.call('ZREM', hooks_order, unpack(nobody))
end
if passed then
  redis.call('HSET', log.run, 'ch', passed)
end
return {0, #ids == most_hooks and 1 or 0, gone}
