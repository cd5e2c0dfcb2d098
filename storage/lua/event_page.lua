-- event_page: a part of a run's log. first < 0 with backwards = 1 means from the end.
-- KEYS: run events
-- ARGV: first count backwards max_bytes at_least want after
--       after is the last event that the caller got, @<createdAt, if known>@<position>, or ''
-- CODES: DONE EVENT_MISSING
-- REPLY: DONE total first {record, payload, ...}; a record or payload that does not fit is its length
-- $include lib/codes.lua
-- $include lib/log.lua
local log = {run = KEYS[1], events = KEYS[2]}
local first = tonumber(ARGV[1])
local count = tonumber(ARGV[2])
local backwards = ARGV[3] == '1'
local max_bytes = tonumber(ARGV[4])
local at_least = tonumber(ARGV[5])
local with_payload = ARGV[6] == 'all'
local after = ARGV[7]

local state = redis.call('HMGET', log.run, 'en', 'x', 'et')
local total = tonumber(state[1] or 0)
log.purged, log.count, log.last = state[2], state[1] or '0', state[3]
if after ~= '' and not has_end(log, after) then
  return {EVENT_MISSING}
end
if backwards and first < 0 then
  first = total - 1
end
if first < 0 or first >= total then
  return {DONE, total, first, {}}
end
local last = backwards and math.max(0, first - count + 1) or math.min(total, first + count) - 1
local _, page = reader()
return {DONE, total, first, page(log, first, last, max_bytes, at_least, with_payload)}
