-- Forgets the crashes of a message, because its app has answered or its run was failed.
--
-- KEYS[1] task hash
-- KEYS[2] zset: messages whose last delivery to the app ended with its process
-- KEYS[3] hash: the suspect in the app's hands, and more about its suspects
-- ARGV[1] message id
-- ARGV[2] owner token
-- ARGV[3] task key prefix
-- ARGV[4] from how many crashes in a row on a message is a suspect
-- Reply: {1, 1 if it was the last suspect of the app}; {0} no longer the caller's
-- $include lib/interrupted.lua
-- $include lib/may.lua

may('DEL', 'HDEL', 'HEXISTS', 'HGET', 'HMGET', 'ZREM', 'ZREVRANGE')

if redis.call('HGET', KEYS[1], 'owner') ~= ARGV[2] then
  return {0}
end
redis.call('HDEL', KEYS[1], 'crashes', 'longest', 'lasted', 'counted', 'crash', 'alone')
redis.call('ZREM', KEYS[2], ARGV[1])
if redis.call('HGET', KEYS[3], 'id') == ARGV[1] then
  redis.call('HDEL', KEYS[3], 'id', 'owner', 'since', 'longest', 'shared')
end
if redis.call('HEXISTS', KEYS[3], 'said') == 0 then
  return {1, 0}
end
local _, _, suspects = interrupted(KEYS[2], ARGV[3], tonumber(ARGV[4]), '', 0)
if suspects > 0 then
  return {1, 0}
end
redis.call('DEL', KEYS[3])
return {1, 1}
