local key = KEYS[1]
local value = ARGV[1]
if redis.call('GET', key) ~= value then
  return {2}
end
redis.call('DEL', key)
return {0}
