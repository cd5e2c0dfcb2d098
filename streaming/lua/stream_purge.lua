-- stream_purge: remove every chunk of a stream for good and record its end, so that it reads as an empty stream that
-- has ended and accepts no more. Writers' numbering stays.
--
-- KEYS  1 stream   2 meta   3 channel
-- ARGV  none
-- Reply {0}   purged
--       {1}   was purged before
local stream, meta, channel = KEYS[1], KEYS[2], KEYS[3]

local state = redis.call('HMGET', meta, 'n', 'eof', 'by', 'ie', 'z')
local left = state[3] or state[4] or state[5] -- a replica that does not know these fields leaves them
if state[1] == '0' and state[2] and not left and redis.call('EXISTS', stream) == 0 then return {1} end

-- If a command is refused, it is refused before anything is written.
redis.call('HDEL', meta, '')
redis.call('UNLINK', channel) -- no key has its name
redis.call('HSET', meta, 'n', '0', 'mx', '0', 'eof', '1')
redis.call('HDEL', meta, 'by', 'ie', 'z')
redis.call('UNLINK', stream)
redis.pcall('PUBLISH', channel, 'end')
return {0}
