-- run_create: run_created (contract §3.3).
-- KEYS: run events order related request_now request_before
-- ARGV: request now ulid correlation record payload want news spec
--       then the attributes: key value ...
-- CODES: DONE REPLAYED RUN_EXISTS
-- REPLY: DONE {id, createdAt, position, news} run | REPLAYED {id, record, payload, position, note, news} run
-- $include lib/event.lua
-- $include lib/attributes.lua
local spec = ARGV[9]

local first = replayed()
if first then
  return {REPLAYED, first, entity(log, log.run, '', with_payload)}
end
if redis.call('EXISTS', log.run) == 1 then
  return {RUN_EXISTS}
end
local added = append(log, tonumber(spec), event)
redis.call('HSET', log.run, 's', 'pending', 'v', spec, 'u', added[2], 'ie', added[3])
set_attributes(10)
return finish({DONE, added, entity(log, log.run, added[3], with_payload)})
