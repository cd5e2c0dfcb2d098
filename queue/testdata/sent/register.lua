local apps = KEYS[1]
local field = ARGV[1]
local record = ARGV[2]
local most = tonumber(ARGV[3])
if redis.call('HEXISTS', apps, field) == 0 and redis.call('HLEN', apps) >= most then
  return {0}
end
redis.call('HSET', apps, field, record)
return {1}
