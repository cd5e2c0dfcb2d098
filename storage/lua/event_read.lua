-- event_read: one event by its id.
-- KEYS: events order
-- ARGV: id want
-- CODES: DONE EVENT_MISSING
-- REPLY: DONE {id, record, payload}
-- $include lib/codes.lua
-- $include lib/log.lua
local log = {events = KEYS[1], order = KEYS[2]}
local id = ARGV[1]
local with_payload = ARGV[2] == 'all'

local short = string.match(id, '^wevt_(.*)$')
local slot = string.match(id, '^evnt_0*(%d+)$')
if slot then
  short = short_slot(slot)
end
local position = short and long_id(short) == id and redis.call('ZRANK', log.order, short)
local event = position and load_record(log, position, id, with_payload)
if not event then
  return {EVENT_MISSING}
end
return {DONE, event}
