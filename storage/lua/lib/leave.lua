-- $include lib/hook.lua
-- AT_ONCE is how many hooks, and how many events, the end of a run removes itself. More are left to portions
-- (storage/portions.go), and the field cl of the run says so.
local AT_ONCE = 500

-- leave moves hooks, {hook id, hook, ...}, to those that are still to be released, and returns all of these, including those of
-- earlier calls. If there are many it returns some of them, and '' as the last element.
local function leave(left_key, hooks)
  if #hooks > 0 then
    redis.call('HSET', left_key, unpack(hooks))
  end
  if redis.call('HLEN', left_key) <= AT_ONCE then
    return redis.call('HGETALL', left_key)
  end
  local cursor, some = '0', {}
  for _ = 1, 100 do -- a hash that has shrunk may begin with empty pages
    local page = redis.call('HSCAN', left_key, cursor, 'COUNT', AT_ONCE)
    cursor, some = page[1], page[2]
    if #some > 0 or cursor == '0' then
      break
    end
  end
  some[#some + 1] = ''
  return some
end

-- try_leaving makes the commands of leave and leave_all in a way that changes nothing: a command that Redis refuses must be
-- refused before anything is written.
local function try_leaving(hooks_key, hooks_order, left_key)
  if redis.call('EXISTS', hooks_key, left_key) == 0 then
    return
  end
  redis.call('HDEL', hooks_key, '')
  redis.call('ZREM', hooks_order, '')
  if redis.call('HLEN', hooks_key) + redis.call('HLEN', left_key) > AT_ONCE then
    redis.call('HSCAN', left_key, '0')
  else
    redis.call('HGETALL', left_key)
  end
end

-- leave_all does the same with the hooks of a run that ends, except those that are retained. If there are too many it leaves
-- them where they are, where they no longer live, and also returns true.
local function leave_all(hooks_key, hooks_order, left_key, now)
  if redis.call('EXISTS', hooks_key, left_key) == 0 then
    return {}, false
  end
  if redis.call('HLEN', hooks_key) > AT_ONCE then
    return leave(left_key, {}), true
  end
  local hooks, gone, gone_ids = redis.call('HGETALL', hooks_key), {}, {}
  for i = 1, #hooks, 2 do
    if not retained(hooks[i + 1], now) then
      gone[#gone + 1] = hooks[i]
      gone[#gone + 1] = hooks[i + 1]
      gone_ids[#gone_ids + 1] = hooks[i]
    end
  end
  if #gone_ids > 0 then
    redis.call('HDEL', hooks_key, unpack(gone_ids))
    redis.call('ZREM', hooks_order, unpack(gone_ids))
  end
  return leave(left_key, gone), false
end
