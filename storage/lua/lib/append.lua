-- $include lib/log.lua
local BASE32 = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'

-- next_ulid returns the smallest ULID above id.
local function next_ulid(id)
  for i = #id, 1, -1 do
    local digit = string.find(BASE32, string.sub(id, i, i), 1, true)
    if digit < 32 then
      return string.sub(id, 1, i - 1) .. string.sub(BASE32, digit + 1, digit + 1) .. string.rep('0', #id - i)
    end
  end
  return id
end

-- append adds one event, {now, ulid, correlation, record, payload}, and returns {id, createdAt,
-- position}. Ids only grow and times never go back, whatever the clocks of the callers say.
-- From spec 6 on the id is the position.
local function append(log, spec, event)
  local position = redis.call('ZCARD', log.order)
  local created, ulid = event.now, event.ulid
  if position > 0 then
    local last = redis.call('ZRANGE', log.order, -1, -1, 'WITHSCORES')
    if tonumber(last[2]) > tonumber(created) then
      created = string.format('%.0f', tonumber(last[2]))
    end
    if #last[1] == 26 and ulid <= last[1] then
      ulid = next_ulid(last[1])
    end
  end
  local short = spec >= 6 and short_slot(position + 1) or ulid
  local record = created .. event.record
  if log.purged then
    record = bare(record)
  end
  redis.call('HSET', log.events, position, record)
  if event.payload ~= '' and not log.purged then
    redis.call('HSET', log.events, position .. '/p', event.payload)
  end
  redis.call('ZADD', log.order, created, short)
  if event.correlation ~= '' then
    redis.call('ZADD', log.related, 0, event.correlation .. '/' .. string.format('%07d', position))
  end
  return {long_id(short), created, tostring(position)}
end
