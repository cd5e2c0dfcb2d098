-- hook_dispose: hook_disposed (contract §3.6).
-- KEYS: run events related request_now request_before hooks hooks_order hooks_left
-- ARGV: request now correlation record payload want question
-- CODES: DONE REPLAYED RUN_EXPIRED RUN_TOO_NEW RUN_LEGACY HOOK_MISSING
-- REPLY: DONE createdAt position delta hooks | REPLAYED record payload position note delta hooks
--        hooks is {hook id, hook, ...} of those to release
-- $include lib/event.lua
-- $include lib/leave.lua
local hooks_key = KEYS[6]
local hooks_order = KEYS[7]
local left_key = KEYS[8]

read_run()
local status = log.status
local first = replayed()
if first then
  first[7] = leave(left_key, {})
  return first
end
local refusal = status and refused(log.spec)
if refusal then
  return refusal
end
local hook = redis.call('HGET', hooks_key, event.correlation)
if not hook_lives(hook, status, event.now) then
  return {HOOK_MISSING}
end
if ended(status) then
  return {RUN_EXPIRED, status}
end

try_memory()
try_leaving(hooks_key, hooks_order, left_key)
local created, position = append(log, event)
redis.call('HDEL', hooks_key, event.correlation)
redis.call('ZREM', hooks_order, event.correlation)
return finish({DONE, created, position, false, leave(left_key, {event.correlation, hook})})
