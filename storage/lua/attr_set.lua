-- attr_set: changes of the run's attributes. once is 1 for a workflow's write, of which each
-- correlation id has one (contract §3.5).
-- KEYS: run events related request_now request_before
-- ARGV: request now correlation record payload want news once
--       then the changes: key value ...; a value is '=<text>', or '-' to remove
-- CODES: DONE REPLAYED RUN_MISSING RUN_ENDED RUN_TOO_NEW RUN_LEGACY ATTRIBUTES_FULL ATTRIBUTE_EXISTS ATTRIBUTES_UNKNOWN
-- REPLY: DONE createdAt position news run | REPLAYED record payload position note news run
-- $include lib/event.lua
local once = ARGV[8] == '1'
local MOST = 64

local first = replayed()
if first then
  first[7] = entity(log, log.run, '', with_payload)
  return first
end
local status, spec = run_state()
if not status then
  return {RUN_MISSING}
end
local refusal = refused(spec)
if refusal then
  return refusal
end
if spec < 4 then -- a replay by that SDK would not know what to make of the event
  return {ATTRIBUTES_UNKNOWN, spec}
end
if ended(status) then
  return {RUN_ENDED, status}
end
local count = 0
for _, field in ipairs(redis.call('HKEYS', log.run)) do
  if string.sub(field, 1, 1) == '@' then
    count = count + 1
  end
end
for i = 9, #ARGV, 2 do
  local before = redis.call('HEXISTS', log.run, '@' .. ARGV[i])
  local after = ARGV[i + 1] == '-' and 0 or 1
  count = count + after - before
end
if count > MOST then
  return {ATTRIBUTES_FULL, count}
end
if once and related_position(log, event.correlation, false) then
  return {ATTRIBUTE_EXISTS}
end

local created, position = append(log, spec, event)
for i = 9, #ARGV, 2 do
  if ARGV[i + 1] == '-' then
    redis.call('HDEL', log.run, '@' .. ARGV[i])
  else
    redis.call('HSET', log.run, '@' .. ARGV[i], string.sub(ARGV[i + 1], 2))
  end
end
redis.call('HSET', log.run, 'u', created, 'ap', position)
return finish({DONE, created, position, false, entity(log, log.run, '', with_payload)})
