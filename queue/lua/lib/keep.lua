-- keep puts a message that has ended where asynq's tools show it, and drops the oldest of
-- those beyond the limit with their bodies. The bound is for a limit that was lowered.
local function keep(set, score, id, most, prefix)
  redis.call('ZADD', set, score, id)
  local over = math.min(redis.call('ZCARD', set) - most, 1000)
  if over > 0 then
    local oldest = redis.call('ZPOPMIN', set, over)
    for i = 1, #oldest, 2 do
      redis.call('DEL', prefix .. oldest[i])
    end
  end
end
