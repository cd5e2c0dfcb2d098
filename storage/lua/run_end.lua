-- run_end: run_completed, run_failed and run_cancelled; removes the run's hooks (contract §3.2, §3.3).
-- KEYS: run events order related request_now request_before hooks hooks_order hooks_left
-- ARGV: request now ulid correlation record payload want status reference
-- CODES: DONE REPLAYED RUN_MISSING RUN_ENDED RUN_TOO_NEW RUN_LEGACY
-- REPLY: DONE {id, createdAt, position} run hooks | REPLAYED {...} run hooks
--        hooks is {hook id, hook, ...} of those to release; reference is the field for the event's position or ''
-- $include lib/event.lua
-- $include lib/leave.lua
local hooks_key = KEYS[7]
local hooks_order = KEYS[8]
local left_key = KEYS[9]
local new_status = ARGV[8]
local reference = ARGV[9]

local first = replayed()
if first then
  return {REPLAYED, first, entity(log, log.run, '', with_payload), leave(left_key, {})}
end
local status, spec = run_state()
if not status then
  return {RUN_MISSING}
end
local refusal = refused(spec)
if refusal then
  return refusal
end
local again = status == 'cancelled' and new_status == 'cancelled'
if ended(status) and not again then
  return {RUN_ENDED, status}
end

local added = append(log, spec, event, event.record, event.payload)
local hooks = {}
if not again then
  redis.call('HSET', log.run, 's', new_status, 'u', added[2], 'ca', added[2])
  if reference ~= '' then
    redis.call('HSET', log.run, reference, added[3])
  end
  hooks = redis.call('HGETALL', hooks_key)
  redis.call('DEL', hooks_key, hooks_order)
end
remember(added[3])
return {DONE, added, entity(log, log.run, added[3], with_payload), leave(left_key, hooks)}
