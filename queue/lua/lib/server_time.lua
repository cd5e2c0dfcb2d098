-- server_time is Redis's clock in seconds. Leases are measured by it, because the clocks of
-- the replicas may differ.
local function server_time()
  local t = redis.call('TIME')
  return tonumber(t[1]) + tonumber(t[2]) / 1000000
end
