-- hook_read: a live hook with its hook_created event, and its run without payloads if asked.
-- KEYS: hooks events run
-- ARGV: hook want now want_run room
-- CODES: DONE HOOK_MISSING
-- REPLY: DONE hook {position, record, payload} run; what does not fit is its length
-- $include lib/codes.lua
-- $include lib/entity.lua
-- $include lib/hook.lua
-- $include lib/legacy_hook.lua
local hooks_key = KEYS[1]
local log = {events = KEYS[2], run = KEYS[3], room = tonumber(ARGV[5])}
local hook_id = ARGV[1]
local with_payload = ARGV[2] == 'all'
local now = ARGV[3]
local want_run = ARGV[4] == '1'

local hook = redis.call('HGET', hooks_key, hook_id)
local state = redis.call('HMGET', log.run, 's', 'x')
log.purged = state[2]
if not hook_lives(hook, state[1], now) then
  return {HOOK_MISSING}
end
local run = want_run and entity(log, log.run, false)
local position, created = string.match(hook, '^%d+'), nil
if position == NO_POSITION then
  created = {position, legacy_hook(log, hook_id, with_payload)}
else
  local event_at = reader()
  created = {position, event_at(log, position, with_payload)}
end
return {DONE, hook, created, run}
