local stream, meta, channel = KEYS[1], KEYS[2], KEYS[3]
local state = redis.call('HMGET', meta, 'n', 'eof', 'by', 'ie', 'z')
local left = state[3] or state[4] or state[5]
if state[1] == '0' and state[2] and not left and redis.call('EXISTS', stream) == 0 then return {1} end
redis.call('HDEL', meta, '')
redis.call('UNLINK', channel)
redis.call('HSET', meta, 'n', '0', 'mx', '0', 'eof', '1')
redis.call('HDEL', meta, 'by', 'ie', 'z')
redis.call('UNLINK', stream)
redis.pcall('PUBLISH', channel, 'end')
return {0}
