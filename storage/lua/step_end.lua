-- step_end: step_completed and step_failed (contract §3.2, §3.4).
-- KEYS: run events order related request_now request_before step
-- ARGV: request now ulid correlation record payload want status reference consults_run
-- CODES: DONE REPLAYED RUN_EXPIRED RUN_TOO_NEW RUN_LEGACY STEP_MISSING STEP_ENDED
-- REPLY: DONE {id, createdAt, position} step | REPLAYED {id, record, payload, position, attempt} step
-- $include lib/event.lua
local step_key = KEYS[7]
local new_status = ARGV[8]
local reference = ARGV[9]
local consults_run = ARGV[10] == '1' -- only step_failed does

local first = replayed()
if first then
  return {REPLAYED, first, entity(log, step_key, '', with_payload)}
end
local status, spec = run_state()
local refusal = consults_run and status and refused(spec)
if refusal then
  return refusal
end
local step = redis.call('HMGET', step_key, 's', 'a')
local step_status, attempt = step[1], step[2]
if not step_status then
  if consults_run and ended(status) then
    return {RUN_EXPIRED, status}
  end
  return {STEP_MISSING}
end
if ended(step_status) then
  return {STEP_ENDED, step_status}
end
if consults_run and ended(status) and step_status ~= 'running' then
  return {RUN_EXPIRED, status}
end

local added = append(log, spec, event, event.record, event.payload)
redis.call('HSET', step_key, 's', new_status, 'u', added[2], 'ca', added[2], reference, added[3])
remember(added[3], attempt)
return {DONE, added, entity(log, step_key, added[3], with_payload)}
