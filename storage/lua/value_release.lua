-- value_release: removes a key if it still has the given value.
-- KEYS: key
-- ARGV: value
-- CODES: DONE UNCHANGED
-- REPLY: DONE removed | UNCHANGED someone else's, or gone
-- $include lib/codes.lua
local key = KEYS[1]
local value = ARGV[1]

if redis.call('GET', key) ~= value then
  return {UNCHANGED}
end
redis.call('DEL', key)
return {DONE}
