-- keep puts a message that has ended where asynq's tools show it, and removes the oldest of
-- those beyond the limit with their bodies: at most 1,000, for a limit that was lowered. It is false if it removes the message itself,
-- because messages that end in the same second are ordered by their ids.
--
-- Redis stores a small zset as a list and searches it at each change, until it has held
-- a long member once. So one is added and removed again, which makes ZADD six times as fast.
local function keep(set, score, id, most, prefix)
  local kept = true
  redis.call('ZADD', set, score, id)
  local size = redis.call('ZCARD', set)
  if size == 1 then
    local long = string.rep('-', 65)
    redis.call('ZADD', set, 0, long)
    redis.call('ZREM', set, long)
  end
  local over = math.min(size - most, 1000)
  if over > 0 then
    local oldest = redis.call('ZPOPMIN', set, over)
    for i = 1, #oldest, 2 do
      redis.call('DEL', prefix .. oldest[i])
      kept = kept and oldest[i] ~= id
    end
  end
  return kept
end
