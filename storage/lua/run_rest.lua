-- run_rest: notes on the run that it is at rest with so many events, unless there are more by now.
-- KEYS: run order
-- ARGV: count
-- CODES: DONE UNCHANGED RUN_MISSING
-- REPLY: DONE | UNCHANGED
-- $include lib/codes.lua
local run = KEYS[1]
local order = KEYS[2]
local count = ARGV[1]

if redis.call('EXISTS', run) == 0 then
  return {RUN_MISSING}
end
if redis.call('ZCARD', order) ~= tonumber(count) then
  return {UNCHANGED}
end
redis.call('HSET', run, 'rs', count)
return {DONE}
