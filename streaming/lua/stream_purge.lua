-- stream_purge: take every chunk of a stream away for good and record its end, so that it reads
-- as an empty stream that has ended and takes no more. What writers know of their own numbering stays.
--
-- KEYS  1 stream   2 meta   3 channel
-- ARGV  none
-- Reply {0}   purged
--       {1}   was purged before
local stream, meta, channel = KEYS[1], KEYS[2], KEYS[3]

local state = redis.call('HMGET', meta, 'n', 'eof', 'by', 'ie')
local of_steps = state[3] or state[4] -- a replica that does not know them leaves them
if state[1] == '0' and state[2] and not of_steps and redis.call('EXISTS', stream) == 0 then return {1} end

redis.call('HSET', meta, 'n', '0', 'mx', '0', 'eof', '1')
if of_steps then redis.call('HDEL', meta, 'by', 'ie') end
redis.call('HDEL', meta, 'z')
redis.call('UNLINK', stream)
redis.pcall('PUBLISH', channel, 'end')
return {0}
