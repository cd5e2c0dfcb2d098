-- purge removes every payload of the log. The events stay, and so do the entities built from them.
local function purge(log)
  local ids = redis.call('ZRANGE', log.order, 0, -1)
  for start = 1, #ids, 500 do
    local chunk = {}
    for i = start, math.min(start + 499, #ids) do
      chunk[#chunk + 1] = ids[i]
    end
    local records = redis.call('HMGET', log.events, unpack(chunk))
    for i = 1, #chunk do
      if records[i] then
        if header(records[i]) < 'a' then
          redis.call('HDEL', log.events, chunk[i] .. '/p')
        end
        redis.call('HSET', log.events, chunk[i], bare(records[i]))
      end
    end
  end
end
