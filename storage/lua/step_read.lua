-- step_read: a step with the events that hold its fields.
-- KEYS: step run events
-- ARGV: want room
-- CODES: DONE STEP_MISSING
-- REPLY: DONE step; what does not fit is its length
-- $include lib/codes.lua
-- $include lib/entity.lua
local step_key = KEYS[1]
local log = {run = KEYS[2], events = KEYS[3], room = tonumber(ARGV[2])}
local with_payload = ARGV[1] == 'all'

local fields = fields_within(log, step_key)
if not fields then
  return {STEP_MISSING}
end
log.purged = redis.call('HGET', log.run, 'x')
return {DONE, add_entity(log, {}, fields, '', with_payload)}
