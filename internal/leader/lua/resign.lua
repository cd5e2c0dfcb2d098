-- resign: gives up the lease if it is the caller's, and notifies those that wait for it.
-- KEYS: lease channel
-- ARGV: holder
-- REPLY: 1 if it was the caller's
local lease, channel = KEYS[1], KEYS[2]
local holder = ARGV[1]

local held = redis.call('GET', lease)
if not held or string.match(held, '^%d+ (.*)$') ~= holder then
  return {0}
end
redis.call('DEL', lease)
redis.pcall('PUBLISH', channel, '')
return {1}
