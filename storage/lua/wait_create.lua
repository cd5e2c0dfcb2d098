-- wait_create: wait_created. A wait has no key of its own: its events are all there is (contract §3.5).
-- KEYS: run events order related request_now request_before
-- ARGV: request now ulid correlation record payload want news
-- CODES: DONE REPLAYED RUN_MISSING RUN_CLOSED RUN_TOO_NEW RUN_LEGACY WAIT_EXISTS
-- REPLY: DONE {id, createdAt, position, news} | REPLAYED {id, record, payload, position, note, news}
-- $include lib/event.lua
-- $include lib/wait_create.lua

local first = replayed()
if first then
  return {REPLAYED, first}
end
return finish(wait_create(event))
