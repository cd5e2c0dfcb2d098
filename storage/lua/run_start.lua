-- run_start: run_started, also for a run that does not exist yet when the caller offers
-- what run_created would have carried (contract §3.1 step 5, §3.3).
-- KEYS: run events order related request_now request_before
-- ARGV: request now ulid correlation record payload want news spec created_record created_payload preload_events preload_bytes
--       then the attributes of a run that is created here: key value ...
-- CODES: DONE REPLAYED UNCHANGED RUN_MISSING RUN_EXPIRED RUN_TOO_NEW RUN_LEGACY
-- REPLY: DONE {id, createdAt, position, news} run log previous | REPLAYED {...} run log | UNCHANGED {news} run log
--        log is {total, {id, record, payload, ...}} or false; previous is the status before, '' when created here
-- $include lib/event.lua
-- $include lib/attributes.lua
local offered_spec = ARGV[9]
local created_record = ARGV[10]
local created_payload = ARGV[11]
local preload_events = tonumber(ARGV[12])
local preload_bytes = tonumber(ARGV[13])

-- preload returns the log when all of it fits; a run of spec 6 or more may get a beginning.
local function preload(spec)
  local total = redis.call('ZCARD', log.order)
  if preload_events == 0 or (total > preload_events and spec < 6) then
    return false
  end
  local events = page(log, 0, math.min(total, preload_events) - 1, preload_bytes, 0, with_payload)
  if #events < 3 * total and spec < 6 then
    return false
  end
  return {total, events}
end

local status, spec = run_state()
local first = replayed()
if first then
  return {REPLAYED, first, entity(log, log.run, '', with_payload), preload(spec)}
end
local creates = not status and created_record ~= ''
if creates then
  spec = tonumber(offered_spec)
elseif not status then
  return {RUN_MISSING}
end
local refusal = refused(spec)
if refusal then
  return refusal
end
if ended(status) then
  return {RUN_EXPIRED, status}
end
if status == 'running' then
  return {UNCHANGED, {news(redis.call('ZCARD', log.order) - 1)}, entity(log, log.run, '', with_payload), preload(spec)}
end

if creates then
  local created = append(log, spec, {now = event.now, ulid = event.ulid, correlation = event.correlation,
    record = created_record, payload = created_payload})
  redis.call('HSET', log.run, 'v', offered_spec, 'ie', created[3])
  set_attributes(14)
end
local added = append(log, spec, event)
redis.call('HSET', log.run, 's', 'running', 'u', added[2])
redis.call('HSETNX', log.run, 'sa', added[2])
return finish({DONE, added, entity(log, log.run, '', with_payload), preload(spec), status or ''})
