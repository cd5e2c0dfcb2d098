local key = KEYS[1]
local expected = ARGV[1]
local value = ARGV[2]
local holder = redis.call('GET', key)
if holder and holder ~= expected then
  return {0, holder}
end
redis.call('SET', key, value)
return {0, value}
