-- Makes sure, just before a delivery, that a message is still the caller's, renews its
-- lease, and notes the app that it goes to.
--
-- KEYS[1] task hash
-- KEYS[2] lease zset
-- ARGV[1] message id
-- ARGV[2] owner token
-- ARGV[3] length of a lease, in seconds
-- ARGV[4] address of the app
-- Reply: {1} go on; {0} no longer the caller's
-- $include lib/server_time.lua

if redis.call('HGET', KEYS[1], 'owner') ~= ARGV[2] then
  return {0}
end
redis.call('ZADD', KEYS[2], string.format('%.3f', server_time() + tonumber(ARGV[3])), ARGV[1])
redis.call('HSET', KEYS[1], 'app', ARGV[4])
return {1}
