-- legacy_step_create: steps.create of spec 1 (contract §9).
-- KEYS: run events request_now request_before step steps
-- ARGV: request now want step name input
-- CODES: DONE REPLAYED RUN_MISSING RUN_MODERN RUN_EXPIRED STEP_EXISTS
-- REPLY: DONE step | REPLAYED step scalars
-- $include lib/legacy.lua
local step_key = KEYS[5]
local steps_key = KEYS[6]
local step = ARGV[4]
local name = ARGV[5]
local input = ARGV[6]

local first = remembered()
if first then
  return {REPLAYED, entity(log, step_key, with_payload), first}
end
local status, refusal = legacy_run()
if not status then
  return refusal
end
if redis.call('EXISTS', step_key) == 1 then
  return {STEP_EXISTS}
end
if ended(status) then
  return {RUN_EXPIRED, status}
end
try_remembering()
redis.call('HGETALL', step_key)
redis.call('ZADD', steps_key, 'XX', now, '')
redis.call('HSET', step_key, 's', 'pending', 'a', 0, 'c', now, 'u', now, 'n', name, 'in', input)
redis.call('ZADD', steps_key, now, step)
remember(scalars(step_key))
return {DONE, entity(log, step_key, with_payload)}
