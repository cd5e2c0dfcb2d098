-- legacy_cancel: run_cancelled of a run of spec 1: the run and its hooks, no event (contract §3.10).
-- A repeated call finds the run cancelled and changes nothing, so no request id is kept.
-- KEYS: run events hooks hooks_order hooks_left channel
-- ARGV: now want
-- CODES: DONE RUN_MISSING RUN_ENDED
-- REPLY: DONE run hooks; hooks is {hook id, hook, ...} of those to release
-- $include lib/codes.lua
-- $include lib/entity.lua
-- $include lib/leave.lua
local log = {run = KEYS[1], events = KEYS[2]}
local hooks_key = KEYS[3]
local hooks_order = KEYS[4]
local left_key = KEYS[5]
local channel = KEYS[6]
local now = ARGV[1]
local with_payload = ARGV[2] == 'all'

local status = redis.call('HGET', log.run, 's')
if not status then
  return {RUN_MISSING}
end
if status == 'completed' or status == 'failed' then
  return {RUN_ENDED, status}
end
if status == 'cancelled' then
  return {DONE, entity(log, log.run, with_payload), leave(left_key, {})}
end
redis.call('HGETALL', log.run)
try_leaving(hooks_key, hooks_order, left_key)
redis.call('HSET', log.run, 's', 'cancelled', 'u', now, 'ca', now)
local left, many = leave_all(hooks_key, hooks_order, left_key, now)
if many then
  redis.call('HSET', log.run, 'cl', '0')
end
local reply = {DONE, entity(log, log.run, with_payload), left}
redis.pcall('PUBLISH', channel, 'cancelled')
return reply
