-- legacy_hook_create: hooks.create of spec 1, for a caller that holds the token (contract §9). The
-- hook's record is in the hash of events, but not in the log. The log has no hook_created for it, or
-- one that means nothing.
-- KEYS: run events request_now request_before hooks hooks_order fence
-- ARGV: request now want hook record payload nonce token_hash place
-- CODES: DONE REPLAYED RUN_MISSING RUN_MODERN RUN_EXPIRED HOOK_EXISTS CLAIM_REVOKED
-- REPLY: DONE record payload | REPLAYED record payload
-- $include lib/legacy.lua
-- $include lib/legacy_hook.lua
local hooks_key = KEYS[5]
local hooks_order = KEYS[6]
local fence_key = KEYS[7]
local hook = ARGV[4]
local record = ARGV[5]
local payload = ARGV[6]
local nonce = ARGV[7]
local token_hash = ARGV[8]
local place = ARGV[9] -- in the list of the run's hooks; '' for now

if remembered() then
  return {REPLAYED, legacy_hook(log, hook, with_payload)}
end
local status, refusal = legacy_run()
if not status then
  return refusal
end
if redis.call('HEXISTS', hooks_key, hook) == 1 then
  return {HOOK_EXISTS}
end
if ended(status) then
  return {RUN_EXPIRED, status}
end
if redis.call('HEXISTS', fence_key, nonce) == 1 then
  return {CLAIM_REVOKED}
end
try_remembering()
redis.call('ZADD', hooks_order, 'XX', now, '')
store_legacy_hook(log, hook, now .. record, payload)
redis.call('HSET', hooks_key, hook, NO_POSITION .. ' ' .. nonce .. ' ' .. token_hash)
redis.call('ZADD', hooks_order, place ~= '' and place or now, hook)
remember('')
return {DONE, legacy_hook(log, hook, with_payload)}
