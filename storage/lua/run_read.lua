-- run_read: a run with the events that hold its fields.
-- KEYS: run events
-- ARGV: want
-- CODES: DONE RUN_MISSING
-- REPLY: DONE run
-- $include lib/codes.lua
-- $include lib/entity.lua
local log = {run = KEYS[1], events = KEYS[2]}
local with_payload = ARGV[1] == 'all'

if redis.call('EXISTS', log.run) == 0 then
  return {RUN_MISSING}
end
return {DONE, entity(log, log.run, with_payload)}
