-- event_read: one event by its position.
-- KEYS: run events
-- ARGV: position want room
-- CODES: DONE EVENT_MISSING
-- REPLY: DONE record payload; one that does not fit is its length
-- $include lib/codes.lua
-- $include lib/log.lua
local log = {run = KEYS[1], events = KEYS[2], room = tonumber(ARGV[3])}
local position = ARGV[1]
local with_payload = ARGV[2] == 'all'

log.purged = redis.call('HGET', log.run, 'x')
local record, payload = load_record(log, position, with_payload)
if not record then
  return {EVENT_MISSING}
end
return {DONE, record, payload}
