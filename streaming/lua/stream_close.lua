-- stream_close: record the end of a stream, once, and ring its doorbell.
--
-- KEYS  1 stream   2 meta   3 channel   4 5 6 request buckets: of now, before, after
-- ARGV  1 request, 16 bytes   2 life of a request bucket, in seconds
--       3 step that closes, "<attempt> <step>"; several, separated by spaces, if one of them closes; empty: none
--       4 life of the stream from now on, in seconds; 0: it does not expire
-- Reply {0, count of chunks}   closed
--       {1, count of chunks}   was closed before, by this call or another one
--       {2, count of chunks}   stays open: a later attempt of the step writes
-- $include lib/both.lua
local stream, meta, channel = KEYS[1], KEYS[2], KEYS[3]
local request, ttl = ARGV[1], tonumber(ARGV[2])
local steps, life = ARGV[3], tonumber(ARGV[4])

local function integer(n)
  return string.format('%.0f', n)
end

local state = redis.call('HMGET', meta, 'n', 'eof', 'by')
local n, closed, by = tonumber(state[1] or '0'), state[2], state[3]
if closed then return {1, n} end

if steps ~= '' then
  -- A repeat must not end what the step has written after the end since.
  for bucket = 4, 6 do
    if redis.call('HEXISTS', KEYS[bucket], request) == 1 then return {1, n} end
  end
  local open = false
  local same = both(steps, string.match(by or '', '^%a (.+)$'))
  for _, s in ipairs(same) do open = open or s[3] <= s[2] end
  local _, callers = string.gsub(steps, '%d+ %S+', '')
  if not open and #same == callers then return {2, n} end
end

-- A refused command stops the script at that point. So every command that follows the XADD is also run before it, in
-- a form that no reader sees.
local new_bucket = steps ~= '' and redis.call('HLEN', KEYS[4]) == 0
-- Redis checks for free memory only before the first write, and not for EXPIRE.
if life == 0 then redis.call('HSET', meta, 'n', integer(n)) end
if new_bucket then redis.call('EXPIRE', KEYS[4], ttl) end
if life > 0 then redis.call('EXPIRE', meta, life) end
if steps == '' and by then redis.call('HDEL', meta, '') end
if life > 0 then redis.call('HSET', meta, 'n', integer(n)) end

-- An end has the form of an empty chunk. Replicas that do not know ends with chunks after them take it for one.
redis.call('XADD', stream, integer(n + 1) .. '-0', 'd', '', 'e', '1')
redis.call('HSET', meta, 'n', integer(n), 'eof', '1')
if steps ~= '' then
  redis.call('HSET', meta, 'by', 'c ' .. steps)
  redis.call('HSET', KEYS[4], request, integer(n))
  if new_bucket then redis.call('EXPIRE', KEYS[4], ttl) end
elseif by then
  redis.call('HDEL', meta, 'by')
end
if life > 0 then
  redis.call('EXPIRE', stream, life)
  redis.call('EXPIRE', meta, life)
end
redis.pcall('PUBLISH', channel, 'end')
return {0, n}
