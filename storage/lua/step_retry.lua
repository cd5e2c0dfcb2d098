-- step_retry: step_retrying; the run is not consulted (contract §3.1 step 4, §3.4).
-- KEYS: run events order related request_now request_before step
-- ARGV: request now ulid correlation record payload want retry_after
-- CODES: DONE REPLAYED STEP_MISSING STEP_ENDED
-- REPLY: DONE {id, createdAt, position} step | REPLAYED {id, record, payload, position, attempt} step
-- $include lib/event.lua
local step_key = KEYS[7]
local retry_after = ARGV[8] -- '' when the step may start at once

local first = replayed()
if first then
  return {REPLAYED, first, entity(log, step_key, '', with_payload)}
end
local step = redis.call('HMGET', step_key, 's', 'a')
local step_status, attempt = step[1], step[2]
if not step_status then
  return {STEP_MISSING}
end
if ended(step_status) then
  return {STEP_ENDED, step_status}
end

local _, spec = run_state()
local added = append(log, spec, event, event.record, event.payload)
redis.call('HSET', step_key, 's', 'pending', 'u', added[2], 'ee', added[3])
if retry_after == '' then
  redis.call('HDEL', step_key, 'ra')
else
  redis.call('HSET', step_key, 'ra', retry_after)
end
remember(added[3], attempt)
return {DONE, added, entity(log, step_key, added[3], with_payload)}
