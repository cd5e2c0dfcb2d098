-- hook_dispose: hook_disposed (contract §3.6).
-- KEYS: run events order related request_now request_before hooks hooks_order hooks_left
-- ARGV: request now ulid correlation record payload want news
-- CODES: DONE REPLAYED RUN_EXPIRED RUN_TOO_NEW RUN_LEGACY HOOK_MISSING
-- REPLY: DONE {id, createdAt, position, news} hooks | REPLAYED {id, record, payload, position, note, news} hooks
--        hooks is {hook id, hook, ...} of those to release
-- $include lib/event.lua
-- $include lib/leave.lua
local hooks_key = KEYS[7]
local hooks_order = KEYS[8]
local left_key = KEYS[9]

local first = replayed()
if first then
  return {REPLAYED, first, leave(left_key, {})}
end
local status, spec = run_state()
local refusal = status and refused(spec)
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

local added = append(log, spec, event)
redis.call('HDEL', hooks_key, event.correlation)
redis.call('ZREM', hooks_order, event.correlation)
return finish({DONE, added, leave(left_key, {event.correlation, hook})})
