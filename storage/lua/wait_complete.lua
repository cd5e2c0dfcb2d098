-- wait_complete: wait_completed (contract §3.5).
-- KEYS: run events related request_now request_before
-- ARGV: request now correlation record payload want question
-- CODES: DONE REPLAYED RUN_TOO_NEW RUN_LEGACY WAIT_MISSING WAIT_ENDED
-- REPLY: DONE createdAt position delta created | REPLAYED ... created; created is {position, record, payload} of wait_created
-- $include lib/event.lua
-- $include lib/apply_wait_complete.lua

read_run()
local first = replayed()
if first then
  first[7] = first_event(event.correlation)
  return first
end
return finish(apply_wait_complete(event))
