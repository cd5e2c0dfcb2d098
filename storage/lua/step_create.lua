-- step_create: step_created (contract §3.4).
-- KEYS: run events related request_now request_before step steps
-- ARGV: request now correlation record payload want question
-- CODES: DONE REPLAYED RUN_MISSING RUN_CLOSED RUN_TOO_NEW RUN_LEGACY STEP_EXISTS
-- REPLY: DONE createdAt position delta step... | REPLAYED record payload position attempt delta step...
-- $include lib/event.lua
-- $include lib/apply_step_create.lua
local step_key = KEYS[6]
local steps_key = KEYS[7]

read_run()
local first = replayed()
if first then
  return add_step(log, first, step_of(step_key), '', with_payload)
end
return finish(apply_step_create(event, step_key, steps_key))
