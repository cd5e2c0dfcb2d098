-- run_create: run_created (contract §3.3).
-- KEYS: run events related request_now request_before removed
-- ARGV: request now correlation record payload want question spec
--       then the attributes: key value ...
-- CODES: DONE REPLAYED RUN_EXISTS RUN_REMOVED
-- REPLY: DONE createdAt position delta run... | REPLAYED record payload position note delta run...
-- $include lib/event.lua
-- $include lib/attributes.lua
local removed_key = KEYS[6]
local spec = ARGV[8]

local run = read_whole_run()
if next(run) then
  local first = replayed()
  if first then
    return add_entity(log, first, run, '', with_payload)
  end
  return {RUN_EXISTS}
end
if redis.call('EXISTS', removed_key) == 1 then
  return {RUN_REMOVED}
end
log.spec, log.first_bucket, log.earlier_bucket = tonumber(spec), log.earlier_bucket, false
local created, position = append(log, event)
run.s, run.v, run.u, run.ie = 'pending', spec, created, position
set_run(log, 's', run.s, 'v', run.v, 'u', run.u, 'ie', run.ie, 'rb', log.first_bucket)
set_attributes(9, run)
return add_entity(log, finish({DONE, created, position, false}), run, position, with_payload)
