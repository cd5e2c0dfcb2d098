-- attr_set: changes of the run's attributes. once is 1 for a workflow's write, of which each
-- correlation id has one (contract §3.5).
-- KEYS: run events related request_now request_before
-- ARGV: request now correlation record payload want question once
--       then the changes: key value ...; a value is '=<text>', or '-' to remove
-- CODES: DONE REPLAYED RUN_MISSING RUN_ENDED RUN_TOO_NEW RUN_LEGACY ATTRIBUTES_FULL ATTRIBUTE_EXISTS ATTRIBUTES_UNKNOWN
-- REPLY: DONE createdAt position delta run... | REPLAYED record payload position note delta run...
-- $include lib/event.lua
local once = ARGV[8] == '1'
local MOST = 64

local run = read_whole_run()
local first = replayed()
if first then
  return add_entity(log, first, run, '', with_payload)
end
if not log.status then
  return {RUN_MISSING}
end
local refusal = refused(log.spec)
if refusal then
  return refusal
end
if log.spec < 4 then -- that SDK could not replay the event
  return {ATTRIBUTES_UNKNOWN, log.spec}
end
if ended(log.status) then
  return {RUN_ENDED, log.status}
end
local removes = false
for i = 9, #ARGV, 2 do
  run['@' .. ARGV[i]] = ARGV[i + 1] ~= '-' and string.sub(ARGV[i + 1], 2) or nil
  removes = removes or ARGV[i + 1] == '-'
end
local count = 0
for field in pairs(run) do
  if string.sub(field, 1, 1) == '@' then
    count = count + 1
  end
end
if count > MOST then
  return {ATTRIBUTES_FULL, count}
end
if once and related_position(log, event.correlation, false) then
  return {ATTRIBUTE_EXISTS}
end

if removes then
  try_memory()
  redis.call('HDEL', log.run, '') -- a refusal must come before anything is written
end
local created, position = append(log, event)
for i = 9, #ARGV, 2 do
  if ARGV[i + 1] == '-' then
    redis.call('HDEL', log.run, '@' .. ARGV[i])
  else
    redis.call('HSET', log.run, '@' .. ARGV[i], string.sub(ARGV[i + 1], 2))
  end
end
run.u, run.ap = created, position
set_run(log, 'u', created, 'ap', position)
return add_entity(log, finish({DONE, created, position, false}), run, '', with_payload)
