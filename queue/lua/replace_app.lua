-- replace_app: replaces the registration of an app, if it is still the one that was read.
-- KEYS: apps
-- ARGV: field before after
-- REPLY: {1}, or {0} if it has changed meanwhile
local apps = KEYS[1] -- hash: field -> record
local field = ARGV[1] -- of the app
local before = ARGV[2] -- record
local after = ARGV[3] -- record

local now = redis.call('HGET', apps, field)
if now == after then
  return {1}
end
if now ~= before then
  return {0}
end
redis.call('HSET', apps, field, after)
return {1}
