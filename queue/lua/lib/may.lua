-- may stops the script before it has written anything if the Redis user may not use one of these commands: what a script
-- has written stays when Redis refuses its next command. It is for scripts that do not run for each message. Those order
-- their writes so that a repeat of the call, or the sweep, mends what was refused.
--
-- Redis 6.2 cannot be asked. There each command runs once on a key that nobody uses, and what it creates is removed at once.
-- DEL comes first: while memory is short Redis refuses a command that needs some, unless the script has written before. The
-- embedded Redis has no users; it is the one without breakpoint.
local function may(...)
  if redis.acl_check_cmd then
    for _, command in ipairs({...}) do
      if not redis.acl_check_cmd(command, KEYS[1], '', '') then
        error('NOPERM the Redis user may not use ' .. command)
      end
    end
  elseif redis.breakpoint then
    local harmless = {
      DEL = {}, EXISTS = {}, EXPIRE = {1}, GET = {}, HDEL = {'f'}, HEXISTS = {'f'}, HGET = {'f'}, HINCRBY = {'f', 1}, HMGET = {'f'},
      HSET = {'f', 'v'}, INCR = {}, LLEN = {}, LPUSH = {'v'}, LRANGE = {0, 0}, LREM = {1, 'v'}, RPUSH = {'v'}, SADD = {'v'}, SCARD = {},
      SPOP = {}, SREM = {'v'}, SSCAN = {0}, ZADD = {'XX', 1, 'v'}, ZCARD = {}, ZMSCORE = {'v'}, ZPOPMIN = {}, ZRANGE = {0, 0},
      ZRANGEBYSCORE = {0, 0}, ZREM = {'v'}, ZREVRANGE = {0, 0}, ZSCORE = {'v'},
    }
    local nobody, remove = KEYS[1] .. ':may', 'DEL'
    redis.call(remove, nobody)
    for _, command in ipairs({...}) do
      if harmless[command] then
        redis.call(command, nobody, unpack(harmless[command]))
        redis.call(remove, nobody)
      else
        redis.call(command) -- TIME
      end
    end
  end
end
