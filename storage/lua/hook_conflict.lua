-- hook_conflict: another hook holds the token of a hook_created. At most one conflict is recorded for
-- a hook (contract §3.6).
-- KEYS: run events related request_now request_before
-- ARGV: request now correlation record payload want question
-- CODES: DONE REPLAYED RECORDED RUN_MISSING RUN_CLOSED RUN_TOO_NEW RUN_LEGACY HOOK_EXISTS
-- REPLY: DONE createdAt position delta | REPLAYED or RECORDED record payload position note delta
-- $include lib/event.lua
-- $include lib/known_hook.lua

read_run()
local first = replayed()
if first then
  return first
end
local answer = child_refused() or known_hook(event.correlation)
if answer then
  return answer
end
local created, position = append(log, event)
return finish({DONE, created, position, false})
