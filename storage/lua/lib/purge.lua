-- purge removes the payloads of the events at positions first..last. The events stay, and so do the entities built from them.
local function purge(log, first, last)
  local fields, bared, split_off = {}, {}, {}
  for position = first, last do
    fields[#fields + 1] = string.format('%d', position)
  end
  if #fields == 0 then
    return
  end
  local records = redis.call('HMGET', log.events, unpack(fields))
  for i = 1, #fields do
    if records[i] then
      if split(records[i]) then
        split_off[#split_off + 1] = fields[i] .. '/p'
      end
      bared[#bared + 1] = fields[i]
      bared[#bared + 1] = bare(records[i])
    end
  end
  if #split_off > 0 then
    redis.call('HDEL', log.events, '') -- a refusal must come before anything is written
  end
  if #bared > 0 then
    redis.call('HSET', log.events, unpack(bared))
  end
  if #split_off > 0 then
    redis.call('HDEL', log.events, unpack(split_off))
  end
end
