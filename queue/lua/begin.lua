-- begin: checks just before a delivery that the caller still has the message, renews its
-- lease, and notes the app that it is delivered to.
-- KEYS: task leases
-- ARGV: id owner lease_time app
-- REPLY: {1} the delivery may begin; {0} another process has the message
-- $include lib/server_time.lua
local task = KEYS[1]
local leases = KEYS[2]
local id = ARGV[1]
local owner = ARGV[2] -- token of the lease
local lease_time = tonumber(ARGV[3]) -- in seconds
local app = ARGV[4] -- its address

if redis.call('HGET', task, 'owner') ~= owner then
  return {0}
end
redis.call('ZADD', leases, string.format('%.3f', server_time() + lease_time), id)
redis.call('HSET', task, 'app', app)
return {1}
