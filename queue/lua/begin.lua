-- begin: makes sure, just before a delivery, that a message is still the caller's, renews its
-- lease, and notes the app that it goes to.
-- KEYS: task leases
-- ARGV: id owner lease_time app
-- REPLY: {1} go on; {0} no longer the caller's
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
