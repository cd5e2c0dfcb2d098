-- legacy_step_update: steps.update of spec 1 (contract §9). Attempts are counted by the client.
-- KEYS: run events request_now request_before step
-- ARGV: request now want status attempt output error retry_after
-- CODES: DONE REPLAYED RUN_MISSING RUN_MODERN STEP_MISSING STEP_GONE
-- REPLY: DONE step | REPLAYED step scalars
-- $include lib/legacy.lua
local step_key = KEYS[5]
local new_status = ARGV[4] -- '' for the one it has, and so on
local attempt = ARGV[5]
local output = ARGV[6]
local error = ARGV[7]
local retry_after = ARGV[8]

local first = remembered()
if first then
  return {REPLAYED, entity(log, step_key, with_payload), first}
end
local run_status, refusal = legacy_run()
if not run_status then
  return refusal
end
local state = redis.call('HMGET', step_key, 's', 'u')
local status, last = state[1], state[2]
if not status then
  return {STEP_MISSING}
end
if ended(status) then
  return {STEP_GONE, status}
end

local at = later(last)
redis.call('HSET', step_key, 'u', at)
if new_status ~= '' then
  redis.call('HSET', step_key, 's', new_status)
end
if new_status == 'running' then
  redis.call('HSETNX', step_key, 'sa', at)
elseif ended(new_status) then
  redis.call('HSET', step_key, 'ca', at)
end
for field, value in pairs({a = attempt, out = output, er = error, ra = retry_after}) do
  if value ~= '' then
    redis.call('HSET', step_key, field, value)
  end
end
remember(scalars(step_key))
return {DONE, entity(log, step_key, with_payload)}
