-- legacy_hook_dispose: hooks.dispose of spec 1 (contract §9).
-- KEYS: run events request_now request_before hooks hooks_order hooks_left
-- ARGV: request now want hook
-- CODES: DONE REPLAYED RUN_MISSING RUN_MODERN HOOK_MISSING
-- REPLY: DONE record payload hooks | REPLAYED record payload hooks
--        hooks is {hook id, hook, ...} of those to release
-- $include lib/legacy.lua
-- $include lib/legacy_hook.lua
-- $include lib/leave.lua
local hooks_key = KEYS[5]
local hooks_order = KEYS[6]
local left_key = KEYS[7]
local hook = ARGV[4]

if remembered() then
  local record, payload = legacy_hook(log, hook, with_payload)
  return {REPLAYED, record, payload, leave(left_key, {})}
end
local status, refusal = legacy_run()
if not status then
  return refusal
end
local live = redis.call('HGET', hooks_key, hook)
if not live or string.match(live, '^%d+') ~= NO_POSITION then
  return {HOOK_MISSING}
end
try_remembering()
try_leaving(hooks_key, hooks_order, left_key)
local record, payload = legacy_hook(log, hook, with_payload)
redis.call('HSET', left_key, hook, live)
redis.call('HDEL', hooks_key, hook)
redis.call('ZREM', hooks_order, hook)
remember('')
return {DONE, record, payload, leave(left_key, {})}
