-- step_mend: rebuilds a step from its events if it differs from them. Scripts cannot cause that; a person, or a restore of half
-- the keys, can, and then every event of the step would be refused for ever. A call reads some of the events and returns what
-- they make of the step, for the next call. The call that reads the last of them writes the step.
-- KEYS: run events related step steps
-- ARGV: correlation count after
--       then what the events up to the position after make of the step: field value ...
-- CODES: DONE UNCHANGED
-- REPLY: DONE the step is rebuilt | DONE after {field, value, ...} there are more events | UNCHANGED
-- $include lib/codes.lua
-- $include lib/log.lua
-- $include lib/step_wrong.lua
local log = {run = KEYS[1], events = KEYS[2], related = KEYS[3]}
local step_key = KEYS[4]
local steps_key = KEYS[5]
local step_id = ARGV[1]
local count = tonumber(ARGV[2])
local after = ARGV[3]

if tonumber(redis.call('HGET', log.run, 'v') or 0) <= 1 then
  return {UNCHANGED} -- no run, or one of the legacy calls, whose steps have no events
end
local wrong, has_events = step_wrong(log, step_key, step_id)
if not wrong then
  return {UNCHANGED}
end
if not has_events then
  redis.call('ZREM', steps_key, '') -- a refusal must come before anything is written
  redis.call('DEL', step_key)
  redis.call('ZREM', steps_key, step_id)
  return {DONE}
end

-- cr is when the step was created; it is no field of a step.
local fields = {}
for i = 4, #ARGV, 2 do
  fields[ARGV[i]] = ARGV[i + 1]
end
local attempt = tonumber(fields.a or 0)
local from = after == '' and '[' .. step_id .. '/' or '(' .. step_id .. '/' .. string.format('%07d', after)
local page = redis.call('ZRANGEBYLEX', log.related, from, '(' .. step_id .. '0', 'LIMIT', 0, count)
-- The record of a step_retrying has the error, of any size.
local positions, bytes = {}, 0
for i, member in ipairs(page) do
  local position = string.match(member, '0*(%d+)$', #step_id + 2)
  bytes = bytes + redis.call('HSTRLEN', log.events, position)
  if bytes > PAGE_ROOM and i > 1 then
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
  return {DONE, positions[#positions], flat}
end
local gone = {}
for _, field in ipairs(redis.call('HKEYS', step_key)) do
  if not fields[field] then
    gone[#gone + 1] = field
  end
end
-- A command that Redis refuses must be refused before the step is changed.
redis.call('HDEL', step_key, '')
redis.call('ZADD', steps_key, 'NX', created, step_id)
redis.call('HSET', step_key, unpack(flat))
if #gone > 0 then
  redis.call('HDEL', step_key, unpack(gone))
end
return {DONE}
