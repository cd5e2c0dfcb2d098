-- step_start: step_started of a step that exists (contract §3.2, §3.4).
-- KEYS: run events related request_now request_before step
-- ARGV: request now correlation record payload want question
-- CODES: DONE REPLAYED RUN_EXPIRED RUN_TOO_NEW RUN_LEGACY STEP_MISSING STEP_ENDED STEP_TOO_EARLY
-- REPLY: DONE createdAt position delta step... | REPLAYED record payload position attempt delta step...
-- $include lib/event.lua
-- $include lib/apply_step_start.lua
local step_key = KEYS[6]

read_run()
local first = replayed()
if first then
  return add_step(log, first, step_of(step_key), '', with_payload)
end
return finish(apply_step_start(event, step_key))
