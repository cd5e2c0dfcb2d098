-- event_related: a part of the events of one entity; after is the last position that the
-- caller has, -1 for none.
-- KEYS: run events related
-- ARGV: correlation after count backwards max_bytes want
-- CODES: DONE
-- REPLY: DONE more {position, record, payload, ...}
-- $include lib/codes.lua
-- $include lib/log.lua
local log = {run = KEYS[1], events = KEYS[2], related = KEYS[3]}
local correlation = ARGV[1]
local after = tonumber(ARGV[2])
local count = tonumber(ARGV[3])
local backwards = ARGV[4] == '1'
local max_bytes = tonumber(ARGV[5])
local with_payload = ARGV[6] == 'all'

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
local positions = {}
for i = 1, math.min(#members, count) do
  positions[i] = string.match(members[i], '0*(%d+)$', #correlation + 2)
end
local records = #positions > 0 and redis.call('HMGET', log.events, unpack(positions))
local out, bytes = {}, 0
for i, position in ipairs(positions) do
  local record, payload = records[i] or lost(position), false
  if not with_payload or log.purged then
    record = bare(record)
  elseif split(record) then
    payload = redis.call('HGET', log.events, position .. '/p')
  end
  bytes = bytes + #record + (payload and #payload or 0)
  if bytes > max_bytes and #out > 0 then
    return {DONE, 1, out}
  end
  out[#out + 1] = position
  out[#out + 1] = record
  out[#out + 1] = payload
end
return {DONE, #members > count and 1 or 0, out}
