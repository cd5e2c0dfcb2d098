-- run_create: run_created (contract §3.3).
-- KEYS: run events related request_now request_before
-- ARGV: request now correlation record payload want news spec
--       then the attributes: key value ...
-- CODES: DONE REPLAYED RUN_EXISTS
-- REPLY: DONE createdAt position news run | REPLAYED record payload position note news run
-- $include lib/event.lua
-- $include lib/attributes.lua
local spec = ARGV[8]

local first = replayed()
if first then
  first[7] = entity(log, log.run, '', with_payload)
  return first
end
if redis.call('EXISTS', log.run) == 1 then
  return {RUN_EXISTS}
end
local created, position = append(log, tonumber(spec), event)
redis.call('HSET', log.run, 's', 'pending', 'v', spec, 'u', created, 'ie', position)
set_attributes(9)
return finish({DONE, created, position, false, entity(log, log.run, position, with_payload)})
