-- watch_next: says when runs are looked at next, unless somebody has entered them anew since they were read.
-- KEYS: watch
-- ARGV: count
--       then for each of so many runs: its id, the time it was read with, and the new one; '' takes the run off
-- CODES: DONE
-- REPLY: DONE
-- $include lib/codes.lua
local watch = KEYS[1]
local count = tonumber(ARGV[1])

for i = 2, 3 * count, 3 do
  local since = redis.call('ZSCORE', watch, ARGV[i])
  if since and tonumber(since) == tonumber(ARGV[i + 1]) then
    if ARGV[i + 2] == '' then
      redis.call('ZREM', watch, ARGV[i])
    else
      redis.call('ZADD', watch, ARGV[i + 2], ARGV[i])
    end
  end
end
return {DONE}
