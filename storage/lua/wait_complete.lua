-- wait_complete: wait_completed (contract §3.5). The wait of a terminal run counts as deleted.
-- KEYS: run events order related request_now request_before
-- ARGV: request now ulid correlation record payload want
-- CODES: DONE REPLAYED RUN_TOO_NEW RUN_LEGACY WAIT_MISSING WAIT_ENDED
-- REPLY: DONE {id, createdAt, position} created | REPLAYED {...} created; created is the wait_created event
-- $include lib/event.lua

local created_at = related_position(log, event.correlation, false)
local created = created_at and event_at(log, created_at, true)
local first = replayed()
if first then
  return {REPLAYED, first, created or false}
end
local status, spec = run_state()
local refusal = status and refused(spec)
if refusal then
  return refusal
end
if not created or header(created[2]) ~= KIND_WAIT_CREATED then
  return {WAIT_MISSING}
end
local last = event_at(log, related_position(log, event.correlation, true), false)
if header(last[2]) == KIND_WAIT_COMPLETED then
  return {WAIT_ENDED}
end
if ended(status) then
  return {WAIT_MISSING}
end

local added = append(log, spec, event, event.record, event.payload)
remember(added[3])
return {DONE, added, created}
