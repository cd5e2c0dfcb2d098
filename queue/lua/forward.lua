-- forward: makes messages pending that were set aside because their app had too many deliveries.
-- Those that have waited longest go first.
-- KEYS: aside retry pending doorbell
-- ARGV: prefix most now ring
-- REPLY: {messages still set aside}
-- $include lib/may.lua
local aside = KEYS[1] -- zset: messages set aside for one app
local retry = KEYS[2]
local pending = KEYS[3]
local doorbell = KEYS[4]
local prefix = ARGV[1] -- of task keys
local most = tonumber(ARGV[2]) -- messages
local now = ARGV[3] -- in ns
local ring = ARGV[4] -- what to publish on the doorbell

may('HDEL', 'HSET', 'RPUSH', 'ZCARD', 'ZPOPMIN', 'ZREM')

local forward = {}
while #forward < most do
  local first = redis.call('ZPOPMIN', aside)
  if not first[1] then
    break
  end
  -- A message that was due meanwhile is pending already.
  if redis.call('ZREM', retry, first[1]) == 1 then
    forward[#forward + 1] = first[1]
  end
end
for i = #forward, 1, -1 do
  redis.call('HDEL', prefix .. forward[i], 'crowded')
  redis.call('HSET', prefix .. forward[i], 'state', 'pending', 'pending_since', now)
  redis.call('RPUSH', pending, forward[i])
end
local left = redis.call('ZCARD', aside)
if #forward > 0 then
  redis.pcall('PUBLISH', doorbell, ring)
end
return {left}
