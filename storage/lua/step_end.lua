-- step_end: step_completed and step_failed (contract §3.2, §3.4).
-- KEYS: run events related request_now request_before step
-- ARGV: request now correlation record payload want question status reference consults_run
-- CODES: DONE REPLAYED RUN_EXPIRED RUN_TOO_NEW RUN_LEGACY STEP_MISSING STEP_ENDED
-- REPLY: DONE createdAt position delta step... | REPLAYED record payload position attempt delta step...
-- $include lib/event.lua
-- $include lib/apply_step_end.lua
local step_key = KEYS[6]
local new_status = ARGV[8]
local reference = ARGV[9]
local consults_run = ARGV[10] == '1'

read_run()
local first = replayed()
if first then
  return add_step(log, first, step_of(step_key), '', with_payload)
end
return finish(apply_step_end(event, step_key, new_status, reference, consults_run))
