-- Attributes are fields of the run's hash, '@' before the key.

-- set_attributes stores the pairs {key, value, ...} of ARGV from position first on, and in fields.
local function set_attributes(first, fields)
  for i = first, #ARGV, 2 do
    fields['@' .. ARGV[i]] = ARGV[i + 1]
    redis.call('HSET', log.run, '@' .. ARGV[i], ARGV[i + 1])
  end
end
