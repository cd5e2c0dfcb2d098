-- run_idle: notes that the run is idle with count events in its log, unless it has more by now. more follows the count in the
-- note: '' if the run is idle, ' <masters>' if it was woken to find that out.
-- KEYS: run
-- ARGV: count more
-- CODES: DONE UNCHANGED RUN_MISSING
-- REPLY: DONE | UNCHANGED
-- $include lib/codes.lua
local run = KEYS[1]
local count = ARGV[1]
local more = ARGV[2]

local state = redis.call('HMGET', run, 's', 'en')
if not state[1] then
  return {RUN_MISSING}
end
if (state[2] or '0') ~= count then
  return {UNCHANGED}
end
redis.call('HSET', run, 'rs', count .. more)
return {DONE}
