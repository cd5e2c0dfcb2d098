-- $include lib/hook.lua
-- leave moves hooks, {hook id, hook, ...}, to those whose release is still to come, and returns
-- all of these: also what an earlier call left.
local function leave(left_key, hooks)
  for i = 1, #hooks, 2 do
    redis.call('HSET', left_key, hooks[i], hooks[i + 1])
  end
  return redis.call('HGETALL', left_key)
end

-- leave_all does so with the hooks of a run that ends, except those that are retained.
local function leave_all(hooks_key, hooks_order, left_key, now)
  if redis.call('EXISTS', hooks_key, left_key) == 0 then
    return {}
  end
  local hooks, gone = redis.call('HGETALL', hooks_key), {}
  for i = 1, #hooks, 2 do
    if not retained(hooks[i + 1], now) then
      gone[#gone + 1] = hooks[i]
      gone[#gone + 1] = hooks[i + 1]
      redis.call('HDEL', hooks_key, hooks[i])
      redis.call('ZREM', hooks_order, hooks[i])
    end
  end
  return leave(left_key, gone)
end
