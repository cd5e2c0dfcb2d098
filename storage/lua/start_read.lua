-- start_read: what run_started answers for a run that is already running and has a short log.
-- KEYS: run events
-- ARGV: max_events max_bytes
-- CODES: DONE UNCHANGED
-- REPLY: DONE run log | UNCHANGED when it is not running or has other rules | UNCHANGED total when the log is longer
--        log is {total, record, payload, ...}; the run leaves out its first event
-- $include lib/codes.lua
-- $include lib/entity.lua
local log = {run = KEYS[1], events = KEYS[2]}
local max_events = tonumber(ARGV[1])
local max_bytes = tonumber(ARGV[2])

local state = redis.call('HMGET', log.run, 's', 'v', 'en')
local spec = tonumber(state[2] or 0)
if state[1] ~= 'running' or spec <= 1 or spec > WORLD_SPEC then
  return {UNCHANGED}
end
local total = tonumber(state[3] or 0)
if total > max_events then
  return {UNCHANGED, total}
end
local _, page = reader()
local events = page(log, 0, total - 1, max_bytes, 0, true)
if #events < 2 * total then
  return {UNCHANGED, total}
end
table.insert(events, 1, total)
return {DONE, add_entity(log, {}, fields_of(log.run), '0', true), events}
