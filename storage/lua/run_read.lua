-- run_read: a run with the events that hold its fields.
-- KEYS: run events
-- ARGV: want room
-- CODES: DONE RUN_MISSING
-- REPLY: DONE run; what does not fit is its length
-- $include lib/codes.lua
-- $include lib/entity.lua
local log = {run = KEYS[1], events = KEYS[2], room = tonumber(ARGV[2])}
local with_payload = ARGV[1] == 'all'

local fields = fields_within(log, log.run)
if not fields then
  return {RUN_MISSING}
end
log.purged = fields.x
return {DONE, add_entity(log, {}, fields, '', with_payload)}
