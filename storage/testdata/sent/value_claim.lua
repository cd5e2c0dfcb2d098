local key = KEYS[1]
local value = ARGV[1]
local holder = redis.call('GET', key)
if holder then
  return {0, holder}
end
redis.call('SET', key, value)
return {0, value}
