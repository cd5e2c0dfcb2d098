-- value_claim: takes a free key, or returns its holder.
-- KEYS: key
-- ARGV: value
-- CODES: DONE
-- REPLY: DONE holder; the holder is value itself when the key was free
-- $include lib/codes.lua
local key = KEYS[1]
local value = ARGV[1]

local holder = redis.call('GET', key)
if holder then
  return {DONE, holder}
end
redis.call('SET', key, value)
return {DONE, value}
