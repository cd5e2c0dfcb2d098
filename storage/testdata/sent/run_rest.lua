local run = KEYS[1]
local count = ARGV[1]
local state = redis.call('HMGET', run, 's', 'en')
if not state[1] then
  return {-1}
end
if (state[2] or '0') ~= count then
  return {2}
end
redis.call('HSET', run, 'rs', count)
return {0}
