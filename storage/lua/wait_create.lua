-- wait_create: wait_created. A wait has no key: its events are all there is (contract §3.5).
-- KEYS: run events related request_now request_before
-- ARGV: request now correlation record payload want question
-- CODES: DONE REPLAYED RUN_MISSING RUN_CLOSED RUN_TOO_NEW RUN_LEGACY WAIT_EXISTS
-- REPLY: DONE createdAt position delta | REPLAYED record payload position note delta
-- $include lib/event.lua
-- $include lib/apply_wait_create.lua

read_run()
local first = replayed()
if first then
  return first
end
return finish(apply_wait_create(event))
