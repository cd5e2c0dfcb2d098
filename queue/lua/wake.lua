-- wake: makes the messages due that wait for an app, because one has registered. The sweep makes
-- them pending, like any that are due.
-- KEYS: waiting_for_app retry registrations doorbell
-- ARGV: prefix most now ring
-- REPLY: {messages still waiting}
-- $include lib/may.lua
local waiting_for_app = KEYS[1] -- set: messages that wait for an app
local retry = KEYS[2]
local registrations = KEYS[3] -- counter of registrations that made these due
local doorbell = KEYS[4]
local prefix = ARGV[1] -- of task keys
local most = tonumber(ARGV[2]) -- messages
local now = ARGV[3] -- in seconds with three decimals
local ring = ARGV[4] -- what to publish on the doorbell

may('HDEL', 'INCR', 'SCARD', 'SPOP', 'ZADD', 'ZSCORE')

redis.call('INCR', registrations)
local woken = 0
while woken < most do
  local id = redis.call('SPOP', waiting_for_app)
  if not id then
    break
  end
  woken = woken + 1
  if redis.call('ZSCORE', retry, id) then
    redis.call('HDEL', prefix .. id, 'stalled')
    redis.call('ZADD', retry, now, id)
  end
end
local left = redis.call('SCARD', waiting_for_app)
redis.pcall('PUBLISH', doorbell, ring)
return {left}
