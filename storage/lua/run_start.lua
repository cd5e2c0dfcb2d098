-- run_start: run_started, also for a run that does not exist yet if the caller sends what
-- run_created would have (contract §3.1 step 5, §3.3).
-- KEYS: run events related request_now request_before removed
-- ARGV: request now correlation record payload want question spec created_record created_payload preload_events preload_bytes
--       then the attributes of a run that is created here: key value ...
-- CODES: DONE REPLAYED UNCHANGED RUN_MISSING RUN_EXPIRED RUN_TOO_NEW RUN_LEGACY RUN_REMOVED
-- REPLY: DONE createdAt position delta log previous run... | REPLAYED record payload position note delta log run... | UNCHANGED delta log run...
--        log is {total, record, payload, ...} or false; the run leaves out what is in it; previous is the status before, '' when created here
-- $include lib/event.lua
-- $include lib/attributes.lua
local removed_key = KEYS[6]
local offered_spec = ARGV[8]
local created_record = ARGV[9]
local created_payload = ARGV[10]
local preload_events = tonumber(ARGV[11])
local preload_bytes = tonumber(ARGV[12])

-- preload returns the log if all of it fits. A run of spec 6 or more may get its beginning.
local function preload()
  local total = tonumber(log.count)
  if preload_events == 0 or (total > preload_events and log.spec < 6) then
    return false
  end
  local _, page = reader()
  local events = page(log, 0, math.min(total, preload_events) - 1, preload_bytes, 0, with_payload)
  if #events < 2 * total and log.spec < 6 then
    return false
  end
  table.insert(events, 1, total)
  return events
end

-- own returns the position of the event that add_entity leaves out: the first one, if the returned log has it.
local function own(events)
  return events and #events > 1 and '0' or ''
end

local run = read_whole_run()
local status = log.status
local first = replayed()
if first then
  first[7] = preload()
  return add_entity(log, first, run, own(first[7]), with_payload)
end
local creates = not status and created_record ~= ''
if creates then
  if redis.call('EXISTS', removed_key) == 1 then
    return {RUN_REMOVED}
  end
  log.spec = tonumber(offered_spec)
elseif not status then
  return {RUN_MISSING}
end
local refusal = refused(log.spec)
if refusal then
  return refusal
end
if ended(status) then
  return {RUN_EXPIRED, status}
end
if status == 'running' then
  local events = preload()
  return add_entity(log, {UNCHANGED, delta(log.count - 1), events}, run, own(events), with_payload)
end

if creates then
  local _, first_position = append(log, {now = event.now, correlation = event.correlation,
    record = created_record, payload = created_payload})
  run.v, run.ie = offered_spec, first_position
  set_run(log, 'v', run.v, 'ie', run.ie)
  set_attributes(13, run)
end
local created, position = append(log, event)
run.s, run.u, run.sa = 'running', created, run.sa or created
set_run(log, 's', run.s, 'u', run.u, 'sa', run.sa)
local reply = finish({DONE, created, position, false, false, status or ''})
reply[5] = preload()
return add_entity(log, reply, run, own(reply[5]), with_payload)
