local lease, channel = KEYS[1], KEYS[2]
local holder = ARGV[1]
local held = redis.call('GET', lease)
if not held or string.match(held, '^%d+ (.*)$') ~= holder then
  return {0}
end
redis.call('DEL', lease)
redis.pcall('PUBLISH', channel, '')
return {1}
