-- run_cancel: run_cancelled of a call that cancels many runs. A run that is already cancelled is left as it is.
-- KEYS: run events related request_now request_before hooks hooks_order hooks_left channel
-- ARGV: request now correlation record payload want question
-- CODES: DONE REPLAYED RUN_MISSING RUN_ENDED RUN_TOO_NEW RUN_LEGACY
-- REPLY: DONE createdAt position delta hooks run... | REPLAYED record payload position note delta hooks run...
--        hooks is {hook id, hook, ...} of those to release
-- $include lib/event.lua
-- $include lib/apply_run_end.lua
local hooks_key = KEYS[6]
local hooks_order = KEYS[7]
local left_key = KEYS[8]
local channel = KEYS[9]

local run = read_whole_run()
local first = replayed()
if first then
  first[7] = leave(left_key, {})
  return add_entity(log, first, run, '', with_payload)
end
if log.status == 'cancelled' then
  return refused(log.spec) or {RUN_ENDED, log.status}
end
return announce_end(channel, finish(apply_run_end(event, run, 'cancelled', '', hooks_key, hooks_order, left_key)))
