-- cleared: forgets the crashes of a message, because its app has answered or its run was failed.
-- KEYS: task interrupted_set suspect
-- ARGV: id owner prefix after
-- REPLY: {1, 1 if it was the last suspect of the app}; {0} another process has the message
-- $include lib/count_interrupted.lua
-- $include lib/may.lua
local task = KEYS[1]
local interrupted_set = KEYS[2] -- zset: messages whose last delivery to the app ended with its process
local suspect = KEYS[3] -- hash: the suspect that the app has, and more about its suspects
local id = ARGV[1]
local owner = ARGV[2] -- token of the lease
local prefix = ARGV[3] -- of task keys
local after = tonumber(ARGV[4]) -- with so many crashes in a row a message is a suspect

may('DEL', 'HDEL', 'HEXISTS', 'HGET', 'HMGET', 'ZREM', 'ZREVRANGE')

if redis.call('HGET', task, 'owner') ~= owner then
  return {0}
end
redis.call('HDEL', task, 'crashes', 'longest', 'lasted', 'counted', 'crash', 'alone')
redis.call('ZREM', interrupted_set, id)
if redis.call('HGET', suspect, 'id') == id then
  redis.call('HDEL', suspect, 'id', 'owner', 'since', 'longest', 'shared')
end
if redis.call('HEXISTS', suspect, 'said') == 0 then
  return {1, 0}
end
local _, _, suspects = count_interrupted(interrupted_set, prefix, after, '', 0)
if suspects > 0 then
  return {1, 0}
end
redis.call('DEL', suspect)
return {1, 1}
