-- step_begin: step_started that brings what step_created would have carried: the first caller
-- creates the step and starts it, everybody else has lost (contract §3.4).
-- KEYS: run events order related request_now request_before step steps
-- ARGV: request now ulid correlation record payload want news created_record created_payload
-- CODES: DONE REPLAYED RUN_MISSING RUN_CLOSED RUN_TOO_NEW RUN_LEGACY STEP_EXISTS
-- REPLY: DONE {id, createdAt, position, news} step | REPLAYED {id, record, payload, position, attempt, news} step
-- $include lib/event.lua
local step_key = KEYS[7]
local steps_key = KEYS[8]
local created_record = ARGV[9]
local created_payload = ARGV[10]

local first = replayed()
if first then
  return {REPLAYED, first, entity(log, step_key, '', with_payload)}
end
local refusal, spec = child_refused()
if refusal then
  return refusal
end
if redis.call('EXISTS', step_key) == 1 then
  return {STEP_EXISTS}
end
local created = append(log, spec, {now = event.now, ulid = event.ulid, correlation = event.correlation,
  record = created_record, payload = created_payload})
local added = append(log, spec, event)
added.note = '1'
redis.call('HSET', step_key, 's', 'running', 'a', added.note, 'u', added[2], 'sa', added[2], 'ie', created[3])
redis.call('ZADD', steps_key, created[2], event.correlation)
return finish({DONE, added, entity(log, step_key, created[3], with_payload)})
