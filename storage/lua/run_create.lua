-- run_create: run_created (contract §3.3).
-- KEYS: run events order related request_now request_before
-- ARGV: request now ulid correlation record payload want spec
-- CODES: DONE REPLAYED RUN_EXISTS
-- REPLY: DONE {id, createdAt, position} run | REPLAYED {id, record, payload, position, note} run
-- $include lib/event.lua
local spec = ARGV[8]

local first = replayed()
if first then
  return {REPLAYED, first, entity(log, log.run, '', with_payload)}
end
if redis.call('EXISTS', log.run) == 1 then
  return {RUN_EXISTS}
end
local added = append(log, tonumber(spec), event, event.record, event.payload)
redis.call('HSET', log.run, 's', 'pending', 'v', spec, 'u', added[2], 'ie', added[3])
remember(added[3])
return {DONE, added, entity(log, log.run, added[3], with_payload)}
