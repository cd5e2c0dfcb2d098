-- hook_fence: checks whether a token claim is that of a live hook. If not, it never will be: the nonce is revoked, so a commit
-- that is still on its way is refused, and a hook whose retention is over is removed. A hook that will be removed with its run,
-- in a portion, is left to that.
-- KEYS: hooks fence run hooks_order
-- ARGV: hook nonce seconds now
-- CODES: DONE UNCHANGED
-- REPLY: UNCHANGED the hook lives under this nonce | DONE the claim is void
-- $include lib/codes.lua
-- $include lib/hook.lua
local hooks_key = KEYS[1]
local fence_key = KEYS[2]
local run_key = KEYS[3]
local hooks_order = KEYS[4]
local hook_id = ARGV[1]
local nonce = ARGV[2]
local seconds = ARGV[3]
local now = ARGV[4]

local hook = redis.call('HGET', hooks_key, hook_id)
local gone = false
if hook and string.match(hook, '^%d+ (%S+) ') == nonce then
  local state = redis.call('HMGET', run_key, 's', 'cl')
  if hook_lives(hook, state[1], now) then
    return {UNCHANGED}
  end
  gone = not state[2]
end
-- A command that Redis refuses must be refused before anything is written.
redis.call('EXPIRE', fence_key, seconds)
if gone then
  redis.call('HDEL', hooks_key, '')
  redis.call('ZREM', hooks_order, '')
end
redis.call('HSET', fence_key, nonce, 1)
redis.call('EXPIRE', fence_key, seconds)
if gone then
  redis.call('HDEL', hooks_key, hook_id)
  redis.call('ZREM', hooks_order, hook_id)
end
return {DONE}
