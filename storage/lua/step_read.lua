-- step_read: a step with the events that hold its fields.
-- KEYS: step run events
-- ARGV: want
-- CODES: DONE STEP_MISSING
-- REPLY: DONE step
-- $include lib/codes.lua
-- $include lib/entity.lua
local step_key = KEYS[1]
local log = {run = KEYS[2], events = KEYS[3]}
local with_payload = ARGV[1] == 'all'

if redis.call('EXISTS', step_key) == 0 then
  return {STEP_MISSING}
end
log.purged = redis.call('HGET', log.run, 'x')
return {DONE, entity(log, step_key, with_payload)}
