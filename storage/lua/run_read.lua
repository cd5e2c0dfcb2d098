-- run_read: a run with the events that hold its fields.
-- KEYS: run events
-- ARGV: want
-- CODES: DONE RUN_MISSING
-- REPLY: DONE run
-- $include lib/codes.lua
-- $include lib/entity.lua
local log = {run = KEYS[1], events = KEYS[2]}
local with_payload = ARGV[1] == 'all'

local run = fields_of(log.run)
if not next(run) then
  return {RUN_MISSING}
end
log.purged = run.x
return {DONE, tell(log, {}, run, '', with_payload)}
