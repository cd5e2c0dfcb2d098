-- event_read: one event by its id.
-- KEYS: events
-- ARGV: id want
-- CODES: DONE EVENT_MISSING
-- REPLY: DONE {id, record, payload}
-- $include lib/codes.lua
-- $include lib/log.lua
local log = {events = KEYS[1]}
local id = ARGV[1]
local with_payload = ARGV[2] == 'all'

local event = load_event(log, id, with_payload)
if not event then
  return {EVENT_MISSING}
end
return {DONE, event}
