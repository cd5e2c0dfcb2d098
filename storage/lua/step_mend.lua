-- step_mend: makes a step what its events say, when it is something else. Scripts cannot leave it so;
-- a person or a restore of half the keys can, and then every event of the step would be refused for ever.
-- KEYS: run events order related step steps
-- ARGV: correlation
-- CODES: DONE UNCHANGED
-- REPLY: DONE | UNCHANGED
-- $include lib/codes.lua
-- $include lib/log.lua
local log = {run = KEYS[1], events = KEYS[2], order = KEYS[3], related = KEYS[4]}
local step_key, steps_key, step_id = KEYS[5], KEYS[6], ARGV[1]

-- The letters of storage/record.go, in lower case.
local STATUS = {g = 'pending', h = 'running', i = 'pending', j = 'completed', k = 'failed'}

local function kind_at(position)
  return string.lower((header(event_at(log, position, false)[2])))
end

if tonumber(redis.call('HGET', log.run, 'v') or 0) <= 1 then
  return {UNCHANGED} -- no run, or one of the legacy calls, whose steps have no events
end
local status = redis.call('HGET', step_key, 's')
local first = related_position(log, step_id, false)
if not first then
  if not status then
    return {UNCHANGED}
  end
  redis.call('DEL', step_key)
  redis.call('ZREM', steps_key, step_id)
  return {DONE}
end
if kind_at(first) ~= 'g' or status == STATUS[kind_at(related_position(log, step_id, true))] then
  return {UNCHANGED}
end

local fields, attempt, created = {}, 0, nil
local from = '[' .. step_id .. '/'
while from do
  local page = redis.call('ZRANGEBYLEX', log.related, from, '(' .. step_id .. '0', 'LIMIT', 0, 500)
  for _, member in ipairs(page) do
    local position = tostring(tonumber(string.sub(member, #step_id + 2)))
    local record = event_at(log, position, false)[2]
    local kind, at = kind_at(position), string.match(record, '^%d+')
    fields.s, fields.u = STATUS[kind] or fields.s, at
    if kind == 'g' then
      fields.ie, created = position, at
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
  from = #page == 500 and '(' .. page[#page] or nil
end
fields.a = string.format('%d', attempt)
redis.call('DEL', step_key)
for field, value in pairs(fields) do
  redis.call('HSET', step_key, field, value)
end
redis.call('ZADD', steps_key, 'NX', created, step_id)
return {DONE}
