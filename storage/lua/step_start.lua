-- step_start: step_started of a step that exists (contract §3.2, §3.4).
-- KEYS: run events order related request_now request_before step
-- ARGV: request now ulid correlation record payload want news
-- CODES: DONE REPLAYED RUN_EXPIRED RUN_TOO_NEW RUN_LEGACY STEP_MISSING STEP_ENDED STEP_TOO_EARLY
-- REPLY: DONE {id, createdAt, position, news} step | REPLAYED {id, record, payload, position, attempt, news} step
-- $include lib/event.lua
-- $include lib/step_start.lua
local step_key = KEYS[7]

local first = replayed()
if first then
  return {REPLAYED, first, entity(log, step_key, '', with_payload)}
end
return finish(step_start(event, step_key))
