-- watch_next: sets when runs of the watch, or of the list of due runs, are looked at next, unless a run was entered again since it was
-- read.
-- KEYS: watch
-- ARGV: count
--       then for each of so many runs: its id, the time it was read with, and the new one; '' removes the run
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
