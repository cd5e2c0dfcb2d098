-- leave moves hooks, {hook id, hook, ...}, to those whose release is still to come, and returns
-- all of these: also what an earlier call left.
local function leave(left_key, hooks)
  for i = 1, #hooks, 2 do
    redis.call('HSET', left_key, hooks[i], hooks[i + 1])
  end
  return redis.call('HGETALL', left_key)
end
