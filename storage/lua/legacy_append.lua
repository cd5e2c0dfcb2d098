-- legacy_append: the event of a legacy call, and wait_completed and hook_received of a run of
-- spec 1: the event, nothing else (contract §3.10, §9).
-- KEYS: run events related request_now request_before
-- ARGV: request now correlation record payload want question refuse_ended
-- CODES: DONE REPLAYED RUN_MISSING RUN_EXPIRED RUN_MODERN
-- REPLY: DONE createdAt position delta | REPLAYED record payload position note delta
-- $include lib/event.lua
local refuse_ended = ARGV[8] == '1'

read_run()
local status = log.status
local first = replayed()
if first then
  return first
end
if not status then
  return {RUN_MISSING}
end
if log.spec > 1 then
  return {RUN_MODERN, log.spec}
end
if refuse_ended and ended(status) then
  return {RUN_EXPIRED, status}
end

local created, position = append(log, event)
return finish({DONE, created, position, false})
