-- step_start: step_started of a step that exists (contract §3.2, §3.4).
-- KEYS: run events order related request_now request_before step
-- ARGV: request now ulid correlation record payload want
-- CODES: DONE REPLAYED RUN_EXPIRED RUN_TOO_NEW RUN_LEGACY STEP_MISSING STEP_ENDED STEP_TOO_EARLY
-- REPLY: DONE {id, createdAt, position} step | REPLAYED {id, record, payload, position, attempt} step
-- $include lib/event.lua
local step_key = KEYS[7]

local first = replayed()
if first then
  return {REPLAYED, first, entity(log, step_key, '', with_payload)}
end
local status, spec = run_state()
local refusal = status and refused(spec)
if refusal then
  return refusal
end
local step = redis.call('HMGET', step_key, 's', 'a', 'ra')
local step_status, attempt, retry_after = step[1], step[2], step[3]
if not step_status then
  if ended(status) then
    return {RUN_EXPIRED, status}
  end
  return {STEP_MISSING}
end
if ended(step_status) then
  return {STEP_ENDED, step_status}
end
-- A step that runs may be started again after its run ended, up to spec 3.
if ended(status) and (spec >= 4 or step_status ~= 'running') then
  return {RUN_EXPIRED, status}
end
if retry_after and tonumber(retry_after) > tonumber(event.now) then
  return {STEP_TOO_EARLY, retry_after}
end

local added = append(log, spec, event, event.record, event.payload)
local new_attempt = string.format('%d', tonumber(attempt) + 1)
redis.call('HSET', step_key, 's', 'running', 'a', new_attempt, 'u', added[2])
redis.call('HSETNX', step_key, 'sa', added[2])
redis.call('HDEL', step_key, 'ra')
remember(added[3], new_attempt)
return {DONE, added, entity(log, step_key, added[3], with_payload)}
