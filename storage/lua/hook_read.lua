-- hook_read: a live hook with its hook_created event.
-- KEYS: hooks events order
-- ARGV: hook want
-- CODES: DONE HOOK_MISSING
-- REPLY: DONE hook {id, record, payload}
-- $include lib/codes.lua
-- $include lib/log.lua
local hooks_key = KEYS[1]
local log = {events = KEYS[2], order = KEYS[3]}
local hook = ARGV[1]
local with_payload = ARGV[2] == 'all'

local live = redis.call('HGET', hooks_key, hook)
if not live then
  return {HOOK_MISSING}
end
return {DONE, live, event_at(log, string.match(live, '^%d+'), with_payload)}
