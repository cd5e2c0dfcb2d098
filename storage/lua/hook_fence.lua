-- hook_fence: asks whether a token claim stands for a live hook, and if not makes sure that
-- it never will: the nonce is revoked, so a commit that is still on its way is refused.
-- KEYS: hooks fence
-- ARGV: hook nonce seconds
-- CODES: DONE UNCHANGED
-- REPLY: UNCHANGED the hook lives under this nonce | DONE the claim is void
-- $include lib/codes.lua
local hooks_key = KEYS[1]
local fence_key = KEYS[2]
local hook = ARGV[1]
local nonce = ARGV[2]
local seconds = ARGV[3]

local live = redis.call('HGET', hooks_key, hook)
if live and string.match(live, '^%d+ (%S+) ') == nonce then
  return {UNCHANGED}
end
redis.call('HSET', fence_key, nonce, 1)
redis.call('EXPIRE', fence_key, seconds)
return {DONE}
