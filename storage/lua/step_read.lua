-- step_read: a step with the events that hold its fields.
-- KEYS: step events
-- ARGV: want
-- CODES: DONE STEP_MISSING
-- REPLY: DONE step
-- $include lib/codes.lua
-- $include lib/entity.lua
local step_key = KEYS[1]
local log = {events = KEYS[2]}
local with_payload = ARGV[1] == 'all'

if redis.call('EXISTS', step_key) == 0 then
  return {STEP_MISSING}
end
return {DONE, entity(log, step_key, with_payload)}
