-- step_create: step_created (contract §3.4).
-- KEYS: run events order related request_now request_before step steps
-- ARGV: request now ulid correlation record payload want
-- CODES: DONE REPLAYED RUN_MISSING RUN_CLOSED RUN_TOO_NEW RUN_LEGACY STEP_EXISTS
-- REPLY: DONE {id, createdAt, position} step | REPLAYED {id, record, payload, position, note} step
-- $include lib/event.lua
local step_key = KEYS[7]
local steps_key = KEYS[8]

local first = replayed()
if first then
  return {REPLAYED, first, entity(log, step_key, '', with_payload)}
end
local status, spec = run_state()
if not status then
  return {RUN_MISSING}
end
local refusal = refused(spec)
if refusal then
  return refusal
end
if ended(status) then
  return {RUN_CLOSED, status}
end
if redis.call('EXISTS', step_key) == 1 then
  return {STEP_EXISTS}
end

local added = append(log, spec, event, event.record, event.payload)
redis.call('HSET', step_key, 's', 'pending', 'a', 0, 'u', added[2], 'ie', added[3])
redis.call('ZADD', steps_key, added[2], event.correlation)
remember(added[3])
return {DONE, added, entity(log, step_key, added[3], with_payload)}
