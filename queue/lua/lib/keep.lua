-- keep puts a message that has ended where asynq's tools show it, and drops the oldest of
-- those beyond the limit with their bodies. The bound is for a limit that was lowered. It is false when the message itself
-- is among these: of those that end in one second the order is that of their ids.
--
-- Redis keeps a small zset as a plain list and walks along it at each change, until it holds
-- a long member once: so one is put in and taken out again, which makes ZADD six times as fast.
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
