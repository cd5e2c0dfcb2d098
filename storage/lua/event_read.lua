-- event_read: one event by its position.
-- KEYS: events
-- ARGV: position want
-- CODES: DONE EVENT_MISSING
-- REPLY: DONE record payload
-- $include lib/codes.lua
-- $include lib/log.lua
local log = {events = KEYS[1]}
local position = ARGV[1]
local with_payload = ARGV[2] == 'all'

local record, payload = load_record(log, position, with_payload)
if not record then
  return {EVENT_MISSING}
end
return {DONE, record, payload}
