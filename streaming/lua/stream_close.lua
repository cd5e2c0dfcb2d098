-- stream_close: record the end of a stream, once, and ring its doorbell.
--
-- KEYS  1 stream   2 meta   3 channel
-- ARGV  1 count of chunks that the stream must have; empty: any
-- Reply {0, count of chunks}   closed
--       {1, count of chunks}   was closed before
--       {2, count of chunks}   has another count, and stays open
local stream, meta, channel = KEYS[1], KEYS[2], KEYS[3]

local function integer(n) return string.format('%.0f', n) end

local state = redis.call('HMGET', meta, 'n', 'eof')
local n, closed = tonumber(state[1] or '0'), state[2]
if closed then return {1, n} end
if ARGV[1] ~= '' and n ~= tonumber(ARGV[1]) then return {2, n} end

redis.call('XADD', stream, integer(n + 1) .. '-0', 'e', '1')
redis.call('HSET', meta, 'n', integer(n), 'eof', '1')
redis.call('PUBLISH', channel, 'end')
return {0, n}
