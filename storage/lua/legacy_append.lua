-- legacy_append: wait_completed and hook_received of a run of spec 1: the event, nothing else
-- (contract §3.10).
-- KEYS: run events order related request_now request_before
-- ARGV: request now ulid correlation record payload want refuse_ended
-- CODES: DONE REPLAYED RUN_MISSING RUN_EXPIRED
-- REPLY: DONE {id, createdAt, position} | REPLAYED {id, record, payload, position, note}
-- $include lib/event.lua
local refuse_ended = ARGV[8] == '1'

local first = replayed()
if first then
  return {REPLAYED, first}
end
local status, spec = run_state()
if not status then
  return {RUN_MISSING}
end
if refuse_ended and ended(status) then
  return {RUN_EXPIRED, status}
end

local added = append(log, spec, event, event.record, event.payload)
remember(added[3])
return {DONE, added}
