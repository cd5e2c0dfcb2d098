-- run_copy: a run as it is, and its log up to a size.
-- KEYS: run events hooks
-- ARGV: count max_bytes
-- CODES: DONE RUN_MISSING
-- REPLY: DONE total hooks {field, value, ...} {record, payload, ...}
--        total is the length of the log, hooks the number of hooks; a field that does not fit is its length. What of the log does
--        not fit is left out at its end
-- $include lib/codes.lua
-- $include lib/entity.lua
local log = {run = KEYS[1], events = KEYS[2], room = tonumber(ARGV[2])}
local count = tonumber(ARGV[1])
local max_bytes = log.room

local fields = fields_within(log, log.run)
if not fields then
  return {RUN_MISSING}
end
local state = redis.call('HMGET', log.run, 'en', 'x')
local total = tonumber(state[1] or 0)
log.purged, log.room = state[2], nil
local flat = {}
for field, value in pairs(fields) do
  flat[#flat + 1], flat[#flat + 2] = field, value
end
local hooks = redis.call('HLEN', KEYS[3])
local _, page = reader()
return {DONE, total, hooks, flat, page(log, 0, math.min(total, count) - 1, max_bytes, 0, true)}
