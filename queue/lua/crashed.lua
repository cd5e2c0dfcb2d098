-- crashed: notes that the app's process ended during the delivery of a message. If the message was the only
-- suspect that the app had, the crash counts against it, and the next suspect may be delivered.
-- KEYS: task interrupted_set suspect
-- ARGV: id owner crashes longest ttl lasted
-- REPLY: {1, crashes that count}; {0} another process has the message
-- $include lib/server_time.lua
-- $include lib/may.lua
local task = KEYS[1]
local interrupted_set = KEYS[2] -- zset: messages whose last delivery to the app ended with its process
local suspect = KEYS[3] -- hash: the suspect that the app has, and more about its suspects
local id = ARGV[1]
local owner = ARGV[2] -- token of the lease
local crashes = ARGV[3] -- in a row, with this one
local longest = ARGV[4] -- delivery that ended in a crash, in ms
local ttl = ARGV[5] -- of the keys, in seconds
local lasted = ARGV[6] -- all deliveries that ended in a crash, in ms

may('EXPIRE', 'HDEL', 'HMGET', 'HSET', 'ZADD')

local f = redis.call('HMGET', task, 'owner', 'counted', 'crash')
if f[1] ~= owner then
  return {0}
end
local counted = tonumber(f[2] or '0')
if f[3] == owner then
  return {1, counted}
end
local s = redis.call('HMGET', suspect, 'id', 'owner', 'shared')
local alone = s[1] == id and s[2] == owner
local now = string.format('%.3f', server_time())
if alone and s[3] ~= '1' then
  counted = counted + 1
end
redis.call('ZADD', interrupted_set, now, id)
redis.call('EXPIRE', interrupted_set, ttl)
redis.call('HSET', task, 'crashes', crashes, 'longest', longest, 'lasted', lasted, 'counted', counted, 'crash', owner)
if alone then
  if s[3] ~= '1' then
    redis.call('HSET', suspect, 'found', now)
  end
  redis.call('HDEL', suspect, 'id', 'owner', 'since', 'longest', 'shared')
end
return {1, counted}
