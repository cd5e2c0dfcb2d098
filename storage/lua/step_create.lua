-- step_create: step_created (contract §3.4).
-- KEYS: run events order related request_now request_before step steps
-- ARGV: request now ulid correlation record payload want news
-- CODES: DONE REPLAYED RUN_MISSING RUN_CLOSED RUN_TOO_NEW RUN_LEGACY STEP_EXISTS
-- REPLY: DONE {id, createdAt, position, news} step | REPLAYED {id, record, payload, position, note, news} step
-- $include lib/event.lua
-- $include lib/step_create.lua
local step_key = KEYS[7]
local steps_key = KEYS[8]

local first = replayed()
if first then
  return {REPLAYED, first, entity(log, step_key, '', with_payload)}
end
return finish(step_create(event, step_key, steps_key))
