-- locator_release: removes entries of a locator that still name the given run.
-- KEYS: locator
-- ARGV: run
--       then correlation ids
-- CODES: DONE UNCHANGED
-- REPLY: DONE removed | UNCHANGED all name another run, or none
-- $include lib/codes.lua
local locator = KEYS[1]
local run = ARGV[1]

local gone = {}
for i = 2, #ARGV do
  if redis.call('HGET', locator, ARGV[i]) == run then
    gone[#gone + 1] = ARGV[i]
  end
end
if #gone == 0 then
  return {UNCHANGED}
end
redis.call('HDEL', locator, unpack(gone))
return {DONE}
