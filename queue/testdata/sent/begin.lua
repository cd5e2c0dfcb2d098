local function server_time()
  local t = redis.call('TIME')
  return tonumber(t[1]) + tonumber(t[2]) / 1000000
end
local task = KEYS[1]
local leases = KEYS[2]
local id = ARGV[1]
local owner = ARGV[2]
local lease_time = tonumber(ARGV[3])
local app = ARGV[4]
if redis.call('HGET', task, 'owner') ~= owner then
  return {0}
end
redis.call('ZADD', leases, string.format('%.3f', server_time() + lease_time), id)
redis.call('HSET', task, 'app', app)
return {1}
