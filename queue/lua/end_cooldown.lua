-- end_cooldown: ends the cooldown of a run. The wake-up that was parked for it becomes pending, unless another
-- one of the run is being delivered.
-- KEYS: cooldown running parked scheduled pending doorbell
-- ARGV: run prefix now ring
-- REPLY: {1 if a message is pending now, otherwise 0}
-- $include lib/may.lua
local cooldown = KEYS[1] -- string: the run is cooling down
local running = KEYS[2] -- hash: run -> wake-up being delivered
local parked = KEYS[3] -- hash: run -> wake-up that is parked
local scheduled = KEYS[4]
local pending = KEYS[5]
local doorbell = KEYS[6]
local run = ARGV[1]
local prefix = ARGV[2] -- of task keys
local now = ARGV[3] -- in ns
local ring = ARGV[4] -- what to publish on the doorbell

may('DEL', 'HDEL', 'HEXISTS', 'HGET', 'HSET', 'RPUSH', 'ZREM')

redis.call('DEL', cooldown)
local id = redis.call('HGET', parked, run)
if not id or redis.call('HEXISTS', running, run) == 1 then
  return {0}
end
redis.call('HDEL', parked, run)
if redis.call('HDEL', prefix .. id, 'parked') == 0 then
  return {0}
end
redis.call('ZREM', scheduled, id)
redis.call('HSET', prefix .. id, 'state', 'pending', 'pending_since', now)
redis.call('RPUSH', pending, id)
redis.pcall('PUBLISH', doorbell, ring)
return {1}
