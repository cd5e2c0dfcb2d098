-- register: stores the registration of an app, if it is known or there is room for another one.
-- KEYS: apps
-- ARGV: field record most
-- REPLY: {1}, or {0} if there is no room
local apps = KEYS[1] -- hash: field -> record
local field = ARGV[1] -- of the app
local record = ARGV[2]
local most = tonumber(ARGV[3]) -- apps

if redis.call('HEXISTS', apps, field) == 0 and redis.call('HLEN', apps) >= most then
  return {0}
end
redis.call('HSET', apps, field, record)
return {1}
