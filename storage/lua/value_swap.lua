-- value_swap: takes a key over from a known holder, or returns its holder.
-- KEYS: key
-- ARGV: expected value
-- CODES: DONE
-- REPLY: DONE holder; the holder is value when it was taken over or free
-- $include lib/codes.lua
local key = KEYS[1]
local expected = ARGV[1]
local value = ARGV[2]

local holder = redis.call('GET', key)
if holder and holder ~= expected then
  return {DONE, holder}
end
redis.call('SET', key, value)
return {DONE, value}
