-- step_retry: step_retrying (contract §3.1 step 4, §3.4).
-- KEYS: run events order related request_now request_before step
-- ARGV: request now ulid correlation record payload want news retry_after
-- CODES: DONE REPLAYED STEP_MISSING STEP_ENDED
-- REPLY: DONE {id, createdAt, position, news} step | REPLAYED {id, record, payload, position, attempt, news} step
-- $include lib/event.lua
-- $include lib/step_retry.lua
local step_key = KEYS[7]
local retry_after = ARGV[9]

local first = replayed()
if first then
  return {REPLAYED, first, entity(log, step_key, '', with_payload)}
end
return finish(step_retry(event, step_key, retry_after))
