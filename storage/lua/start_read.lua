-- start_read: what run_started answers of a run that is running already, when the whole of its log is short.
-- KEYS: run events order
-- ARGV: max_events max_bytes
-- CODES: DONE UNCHANGED
-- REPLY: DONE run log | UNCHANGED when it is not running, has other rules, or the log is longer
--        log is {total, {id, record, payload, ...}}
-- $include lib/codes.lua
-- $include lib/entity.lua
local log = {run = KEYS[1], events = KEYS[2], order = KEYS[3]}
local max_events = tonumber(ARGV[1])
local max_bytes = tonumber(ARGV[2])

local state = redis.call('HMGET', log.run, 's', 'v')
local spec = tonumber(state[2] or 0)
if state[1] ~= 'running' or spec <= 1 or spec > WORLD_SPEC then
  return {UNCHANGED}
end
local total = redis.call('ZCARD', log.order)
if total > max_events then
  return {UNCHANGED}
end
local events = page(log, 0, total - 1, max_bytes, 0, true)
if #events < 3 * total then
  return {UNCHANGED}
end
return {DONE, entity(log, log.run, '', true), {total, events}}
