-- step_retry: step_retrying (contract §3.1 step 4, §3.4).
-- KEYS: run events related request_now request_before step
-- ARGV: request now correlation record payload want question retry_after
-- CODES: DONE REPLAYED STEP_MISSING STEP_ENDED
-- REPLY: DONE createdAt position delta step... | REPLAYED record payload position attempt delta step...
-- $include lib/event.lua
-- $include lib/apply_step_retry.lua
local step_key = KEYS[6]
local retry_after = ARGV[8]

read_run()
local first = replayed()
if first then
  return add_step(log, first, step_of(step_key), '', with_payload)
end
return finish(apply_step_retry(event, step_key, retry_after))
