-- Stores the registration of an app, if it is known or there is room for another one.
--
-- KEYS[1] apps hash
-- ARGV[1] field of the app
-- ARGV[2] its record
-- ARGV[3] how many there may be
-- Reply: {1}, or {0} if there is no room
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 and redis.call('HLEN', KEYS[1]) >= tonumber(ARGV[3]) then
  return {0}
end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
return {1}
