-- step_start: step_started, of a step that exists or, when the caller brings a step_created
-- along, of one that does not (contract §3.2, §3.4).
-- KEYS: run events order related request_now request_before step steps
-- ARGV: request now ulid correlation record payload want created_record created_payload
-- CODES: DONE REPLAYED RUN_MISSING RUN_CLOSED RUN_EXPIRED RUN_TOO_NEW RUN_LEGACY STEP_EXISTS STEP_MISSING STEP_ENDED STEP_TOO_EARLY
-- REPLY: DONE {id, createdAt, position} step | REPLAYED {id, record, payload, position, attempt} step
-- $include lib/event.lua
local step_key = KEYS[7]
local steps_key = KEYS[8]
local created_record = ARGV[8] -- '' when the step must exist
local created_payload = ARGV[9]
local creates = created_record ~= ''

local first = replayed()
if first then
  return {REPLAYED, first, entity(log, step_key, '', with_payload)}
end
local status, spec = run_state()
local refusal = status and refused(spec)
if refusal then
  return refusal
end
local step = redis.call('HMGET', step_key, 's', 'a', 'ra', 'sa')
local step_status, attempt, retry_after, started_at = step[1], step[2], step[3], step[4]
if creates then
  if not status then
    return {RUN_MISSING}
  end
  if step_status then
    return {STEP_EXISTS}
  end
  if ended(status) then
    return {RUN_CLOSED, status}
  end
elseif not step_status then
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

if creates then
  local created = append(log, spec, event, created_record, created_payload)
  redis.call('HSET', step_key, 'ie', created[3])
  redis.call('ZADD', steps_key, created[2], event.correlation)
  attempt = 0
end
local added = append(log, spec, event, event.record, event.payload)
local new_attempt = string.format('%d', tonumber(attempt) + 1)
redis.call('HSET', step_key, 's', 'running', 'a', new_attempt, 'u', added[2], 'sa', started_at or added[2])
if retry_after then
  redis.call('HDEL', step_key, 'ra')
end
remember(added[3], new_attempt)
return {DONE, added, entity(log, step_key, added[3], with_payload)}
