-- Attributes are fields of the run's hash, '@' before the key.

-- set_attributes stores the pairs {key, value, ...} of ARGV from position first on.
local function set_attributes(first)
  for i = first, #ARGV, 2 do
    redis.call('HSET', log.run, '@' .. ARGV[i], ARGV[i + 1])
  end
end
