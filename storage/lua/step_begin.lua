-- step_begin: step_started with what step_created would have had. The first caller creates the step
-- and starts it; all others are refused (contract §3.4).
-- KEYS: run events related request_now request_before step steps
-- ARGV: request now correlation record payload want question created_record created_payload
-- CODES: DONE REPLAYED RUN_MISSING RUN_CLOSED RUN_TOO_NEW RUN_LEGACY STEP_EXISTS
-- REPLY: DONE createdAt position delta step... | REPLAYED record payload position attempt delta step...
-- $include lib/event.lua
local step_key = KEYS[6]
local steps_key = KEYS[7]
local created_record = ARGV[8]
local created_payload = ARGV[9]

read_run()
local first = replayed()
if first then
  return add_step(log, first, step_of(step_key), '', with_payload)
end
local refusal = child_refused()
if refusal then
  return refusal
end
if redis.call('EXISTS', step_key) == 1 then
  return {STEP_EXISTS}
end
local _, first_position = append(log, {now = event.now, correlation = event.correlation,
  record = created_record, payload = created_payload})
local created, position = append(log, event)
redis.call('HSET', step_key, 's', 'running', 'a', '1', 'u', created, 'sa', created, 'ie', first_position)
redis.call('ZADD', steps_key, created, event.correlation)
local step = {'running', '1', created, created, false, false, first_position, false, false}
return add_step(log, finish({DONE, created, position, false, note = '1'}), step, first_position, with_payload)
