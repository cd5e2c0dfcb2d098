-- legacy_run_update: runs.update, cancel, pause and resume of spec 1 (contract §9).
-- KEYS: run events request_now request_before hooks hooks_order hooks_left channel
-- ARGV: request now want status output error context resume
-- CODES: DONE REPLAYED UNCHANGED RUN_MISSING RUN_MODERN RUN_ENDED RUN_NOT_PAUSED
-- REPLY: DONE or UNCHANGED run hooks | REPLAYED run hooks scalars; hooks is {hook id, hook, ...} of those to release
-- $include lib/legacy.lua
-- $include lib/leave.lua
local hooks_key = KEYS[5]
local hooks_order = KEYS[6]
local left_key = KEYS[7]
local channel = KEYS[8]
local new_status = ARGV[4] -- '' for the one it has, and so on
local output = ARGV[5]
local error = ARGV[6]
local context = ARGV[7]
local resume = ARGV[8] == '1' -- only from paused

local first = remembered()
if first then
  return {REPLAYED, entity(log, log.run, with_payload), leave(left_key, {}), first}
end
local status, refusal = legacy_run()
if not status then
  return refusal
end
if resume and status ~= 'paused' then
  return {RUN_NOT_PAUSED, status}
end
if ended(status) then
  if new_status ~= status then
    return {RUN_ENDED, status}
  end
  return {UNCHANGED, entity(log, log.run, with_payload), leave(left_key, {})}
end

local state = redis.call('HMGET', log.run, 'u', 'sa')
local at = later(state[1])
local changes, change = change_status(at, new_status, state[2])
change('out', output)
change('er', error)
change('xc', context)
try_remembering()
redis.call('HGETALL', log.run)
redis.call('HLEN', left_key)
if ended(new_status) then
  try_leaving(hooks_key, hooks_order, left_key)
end
redis.call('HSET', log.run, unpack(changes))
local left, many
if ended(new_status) then
  left, many = leave_all(hooks_key, hooks_order, left_key, now)
  if many then
    redis.call('HSET', log.run, 'cl', '0')
  end
end
remember(scalars(log.run))
local reply = {DONE, entity(log, log.run, with_payload), left or leave(left_key, {})}
if ended(new_status) then
  redis.pcall('PUBLISH', channel, new_status)
end
return reply
