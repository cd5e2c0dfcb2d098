-- event_related: a part of the events of one entity; after is the last position that the
-- caller has, -1 for none.
-- KEYS: run events related
-- ARGV: correlation after count backwards max_bytes at_least want room
-- CODES: DONE
-- REPLY: DONE more {position, record, payload, ...}; a record or payload that does not fit is its length
-- $include lib/codes.lua
-- $include lib/log.lua
local log = {run = KEYS[1], events = KEYS[2], related = KEYS[3], room = tonumber(ARGV[8])}
local correlation = ARGV[1]
local after = tonumber(ARGV[2])
local count = tonumber(ARGV[3])
local backwards = ARGV[4] == '1'
local max_bytes = tonumber(ARGV[5])
local at_least = tonumber(ARGV[6])
local with_payload = ARGV[7] == 'all'

local function length(value)
  return type(value) == 'string' and #value or math.abs(value or 0)
end

local low, high = '[' .. correlation .. '/', '(' .. correlation .. '0'
local members
if backwards then
  if after >= 0 then
    high = '(' .. correlation .. '/' .. string.format('%07d', after)
  end
  members = redis.call('ZREVRANGEBYLEX', log.related, high, low, 'LIMIT', 0, count + 1)
else
  if after >= 0 then
    low = '(' .. correlation .. '/' .. string.format('%07d', after)
  end
  members = redis.call('ZRANGEBYLEX', log.related, low, high, 'LIMIT', 0, count + 1)
end
log.purged = redis.call('HGET', log.run, 'x')
local event_at = reader()
local out, bytes = {}, 0
for i = 1, math.min(#members, count) do
  local position = string.match(members[i], '0*(%d+)$', #correlation + 2)
  local record, payload = event_at(log, position, with_payload)
  bytes = bytes + length(record) + length(payload)
  if bytes > max_bytes and i > at_least then
    return {DONE, 1, out}
  end
  out[#out + 1] = position
  out[#out + 1] = record
  out[#out + 1] = payload
end
return {DONE, #members > count and 1 or 0, out}
