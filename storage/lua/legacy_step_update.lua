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
local state = redis.call('HMGET', step_key, 's', 'u', 'sa')
local status, last = state[1], state[2]
if not status then
  return {STEP_MISSING}
end
if ended(status) then
  return {STEP_GONE, status}
end

local at = later(last)
local changes, change = change_status(at, new_status, state[3])
change('a', attempt)
change('out', output)
change('er', error)
change('ra', retry_after)
try_remembering()
redis.call('HGETALL', step_key)
redis.call('HSET', step_key, unpack(changes))
remember(scalars(step_key))
return {DONE, entity(log, step_key, with_payload)}
