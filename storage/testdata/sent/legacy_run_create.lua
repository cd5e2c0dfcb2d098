local run_key = KEYS[1]
local now = ARGV[1]
local deployment = ARGV[2]
local name = ARGV[3]
local input = ARGV[4]
local context = ARGV[5]
local created = redis.call('HGET', run_key, 'c')
if created then
  return {1, created}
end
redis.call('HSET', run_key, 's', 'pending', 'c', now, 'u', now, 'd', deployment, 'n', name, 'in', input)
if context ~= '' then
  redis.call('HSET', run_key, 'xc', context)
end
return {0, now}
