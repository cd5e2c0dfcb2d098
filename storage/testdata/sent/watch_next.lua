local watch = KEYS[1]
local count = tonumber(ARGV[1])
for i = 2, 3 * count, 3 do
  local since = redis.call('ZSCORE', watch, ARGV[i])
  if since and tonumber(since) == tonumber(ARGV[i + 1]) then
    if ARGV[i + 2] == '' then
      redis.call('ZREM', watch, ARGV[i])
    else
      redis.call('ZADD', watch, ARGV[i + 2], ARGV[i])
    end
  end
end
return {0}
