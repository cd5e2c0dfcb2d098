-- hook_create: hook_created, for a caller that holds the token (contract §3.6).
-- KEYS: run events related request_now request_before hooks hooks_order fence
-- ARGV: request now correlation record payload want question nonce token_hash retained_until place
-- CODES: DONE REPLAYED RECORDED RUN_MISSING RUN_CLOSED RUN_TOO_NEW RUN_LEGACY HOOK_EXISTS CLAIM_REVOKED
-- REPLY: DONE createdAt position delta | REPLAYED or RECORDED record payload position note delta
-- $include lib/event.lua
-- $include lib/known_hook.lua
local hooks_key = KEYS[6]
local hooks_order = KEYS[7]
local fence_key = KEYS[8]
local nonce = ARGV[8]
local token_hash = ARGV[9]
local retained_until = ARGV[10] -- '' for a hook that ends with its run
local place = ARGV[11] -- in the list of the run's hooks; '' for the time of the event

read_run()
local first = replayed()
if first then
  return first
end
local answer = child_refused() or known_hook(event.correlation)
if answer then
  return answer
end
if redis.call('HEXISTS', fence_key, nonce) == 1 then
  return {CLAIM_REVOKED}
end

local created, position = append(log, event)
local hook = position .. ' ' .. nonce .. ' ' .. token_hash
if retained_until ~= '' then
  hook = hook .. ' ' .. retained_until
end
redis.call('HSET', hooks_key, event.correlation, hook)
redis.call('ZADD', hooks_order, place ~= '' and place or created, event.correlation)
return finish({DONE, created, position, false})
