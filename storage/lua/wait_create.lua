-- wait_create: wait_created. A wait has no key of its own: its events are all there is (contract §3.5).
-- KEYS: run events order related request_now request_before
-- ARGV: request now ulid correlation record payload want
-- CODES: DONE REPLAYED RUN_MISSING RUN_CLOSED RUN_TOO_NEW RUN_LEGACY WAIT_EXISTS
-- REPLY: DONE {id, createdAt, position} | REPLAYED {id, record, payload, position, note}
-- $include lib/event.lua

local first = replayed()
if first then
  return {REPLAYED, first}
end
local status, spec = run_state()
if not status then
  return {RUN_MISSING}
end
local refusal = refused(spec)
if refusal then
  return refusal
end
if ended(status) then
  return {RUN_CLOSED, status}
end
if related_position(log, event.correlation, false) then
  return {WAIT_EXISTS}
end

local added = append(log, spec, event, event.record, event.payload)
remember(added[3])
return {DONE, added}
