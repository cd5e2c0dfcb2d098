-- run_end: run_completed, run_failed and run_cancelled; removes the run's hooks (contract §3.2, §3.3).
-- KEYS: run events order related request_now request_before hooks hooks_order hooks_left channel
-- ARGV: request now ulid correlation record payload want news status reference
-- CODES: DONE REPLAYED RUN_MISSING RUN_ENDED RUN_TOO_NEW RUN_LEGACY
-- REPLY: DONE {id, createdAt, position, news} run hooks | REPLAYED {...} run hooks
--        hooks is {hook id, hook, ...} of those to release
-- $include lib/event.lua
-- $include lib/run_end.lua
local hooks_key = KEYS[7]
local hooks_order = KEYS[8]
local left_key = KEYS[9]
local channel = KEYS[10]
local new_status = ARGV[9]
local reference = ARGV[10]

local first = replayed()
if first then
  return {REPLAYED, first, entity(log, log.run, '', with_payload), leave(left_key, {})}
end
return finish(run_end(event, new_status, reference, hooks_key, hooks_order, left_key, channel))
