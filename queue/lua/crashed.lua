-- Notes that the app's process ended during the delivery of a message. If the message was the only
-- suspect in the app's hands, the crash counts against it, and the next suspect may be delivered.
--
-- KEYS[1] task hash
-- KEYS[2] zset: messages whose last delivery to the app ended with its process
-- KEYS[3] hash: the suspect in the app's hands, and more about its suspects
-- ARGV[1] message id
-- ARGV[2] owner token
-- ARGV[3] crashes in a row, with this one
-- ARGV[4] the longest delivery that ended so, in ms
-- ARGV[5] when the keys end, in seconds
-- ARGV[6] all deliveries that ended so, in ms
-- Reply: {1, crashes that count}; {0} no longer the caller's
-- $include lib/server_time.lua
-- $include lib/may.lua

may('EXPIRE', 'HDEL', 'HMGET', 'HSET', 'ZADD')

local f = redis.call('HMGET', KEYS[1], 'owner', 'counted', 'crash')
if f[1] ~= ARGV[2] then
  return {0}
end
local counted = tonumber(f[2] or '0')
if f[3] == ARGV[2] then
  return {1, counted}
end
local s = redis.call('HMGET', KEYS[3], 'id', 'owner', 'shared')
local alone = s[1] == ARGV[1] and s[2] == ARGV[2]
local now = string.format('%.3f', server_time())
if alone and s[3] ~= '1' then
  counted = counted + 1
end
redis.call('ZADD', KEYS[2], now, ARGV[1])
redis.call('EXPIRE', KEYS[2], ARGV[5])
redis.call('HSET', KEYS[1], 'crashes', ARGV[3], 'longest', ARGV[4], 'lasted', ARGV[6], 'counted', counted, 'crash', ARGV[2])
if alone then
  if s[3] ~= '1' then
    redis.call('HSET', KEYS[3], 'found', now)
  end
  redis.call('HDEL', KEYS[3], 'id', 'owner', 'since', 'longest', 'shared')
end
return {1, counted}
