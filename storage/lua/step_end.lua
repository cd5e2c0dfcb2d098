-- step_end: step_completed and step_failed (contract §3.2, §3.4).
-- KEYS: run events order related request_now request_before step
-- ARGV: request now ulid correlation record payload want news status reference consults_run
-- CODES: DONE REPLAYED RUN_EXPIRED RUN_TOO_NEW RUN_LEGACY STEP_MISSING STEP_ENDED
-- REPLY: DONE {id, createdAt, position, news} step | REPLAYED {id, record, payload, position, attempt, news} step
-- $include lib/event.lua
-- $include lib/step_end.lua
local step_key = KEYS[7]
local new_status = ARGV[9]
local reference = ARGV[10]
local consults_run = ARGV[11] == '1'

local first = replayed()
if first then
  return {REPLAYED, first, entity(log, step_key, '', with_payload)}
end
return finish(step_end(event, step_key, new_status, reference, consults_run))
