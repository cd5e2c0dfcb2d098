-- wait_complete: wait_completed (contract §3.5).
-- KEYS: run events order related request_now request_before
-- ARGV: request now ulid correlation record payload want news
-- CODES: DONE REPLAYED RUN_TOO_NEW RUN_LEGACY WAIT_MISSING WAIT_ENDED
-- REPLY: DONE {id, createdAt, position, news} created | REPLAYED {...} created; created is the wait_created event
-- $include lib/event.lua
-- $include lib/wait_complete.lua

local first = replayed()
if first then
  return {REPLAYED, first, first_event(event.correlation)}
end
return finish(wait_complete(event))
