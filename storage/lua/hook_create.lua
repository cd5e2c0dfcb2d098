-- hook_create: hook_created, for a caller that holds the token (contract §3.6).
-- KEYS: run events order related request_now request_before hooks hooks_order fence
-- ARGV: request now ulid correlation record payload want news nonce token_hash retained_until place
-- CODES: DONE REPLAYED RECORDED RUN_MISSING RUN_CLOSED RUN_TOO_NEW RUN_LEGACY HOOK_EXISTS CLAIM_REVOKED
-- REPLY: DONE {id, createdAt, position, news} | REPLAYED or RECORDED {id, record, payload, position, note, news}
-- $include lib/event.lua
local hooks_key = KEYS[7]
local hooks_order = KEYS[8]
local fence_key = KEYS[9]
local nonce = ARGV[9]
local token_hash = ARGV[10]
local retained_until = ARGV[11] -- '' for a hook that ends with its run
local place = ARGV[12] -- in the list of the run's hooks; '' for the moment of the event

local first = replayed()
if first then
  return {REPLAYED, first}
end
local status, spec = run_state()
if not status then
  return {RUN_MISSING}
end
local refusal = refused(spec)
if refusal then
  return refusal
end
if ended(status) then
  return {RUN_CLOSED, status}
end
local position = related_position(log, event.correlation, false)
if position then
  if header(event_at(log, position, false)[2]) == KIND_HOOK_CONFLICT then
    return {RECORDED, recorded(position)}
  end
  return {HOOK_EXISTS}
end
if redis.call('HEXISTS', fence_key, nonce) == 1 then
  return {CLAIM_REVOKED}
end

local added = append(log, spec, event)
local hook = added[3] .. ' ' .. nonce .. ' ' .. token_hash
if retained_until ~= '' then
  hook = hook .. ' ' .. retained_until
end
redis.call('HSET', hooks_key, event.correlation, hook)
redis.call('ZADD', hooks_order, place ~= '' and place or added[2], event.correlation)
return finish({DONE, added})
