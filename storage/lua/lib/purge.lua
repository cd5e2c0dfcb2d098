-- purge removes every payload of the log. The events stay, and so do the entities built from them.
local function purge(log)
  local total = tonumber(log.count)
  for start = 0, total - 1, 500 do
    local chunk = {}
    for position = start, math.min(start + 499, total - 1) do
      chunk[#chunk + 1] = string.format('%d', position)
    end
    local records = redis.call('HMGET', log.events, unpack(chunk))
    for i = 1, #chunk do
      if records[i] then
        if split(records[i]) then
          redis.call('HDEL', log.events, chunk[i] .. '/p')
        end
        redis.call('HSET', log.events, chunk[i], bare(records[i]))
      end
    end
  end
end
