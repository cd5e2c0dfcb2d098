local function retained(hook, now)
  local until_ms = string.match(hook, '^%d+ %S+ %S+ (%d+)$')
  return until_ms and tonumber(until_ms) > tonumber(now)
end
local function hook_lives(hook, run_status, now)
  if not hook then
    return false
  end
  local over = run_status == 'completed' or run_status == 'failed' or run_status == 'cancelled'
  return not over or retained(hook, now)
end
local hooks_key = KEYS[1]
local fence_key = KEYS[2]
local run_key = KEYS[3]
local hooks_order = KEYS[4]
local hook_id = ARGV[1]
local nonce = ARGV[2]
local seconds = ARGV[3]
local now = ARGV[4]
local hook = redis.call('HGET', hooks_key, hook_id)
local gone = false
if hook and string.match(hook, '^%d+ (%S+) ') == nonce then
  local state = redis.call('HMGET', run_key, 's', 'cl')
  if hook_lives(hook, state[1], now) then
    return {2}
  end
  gone = not state[2]
end
redis.call('EXPIRE', fence_key, seconds)
if gone then
  redis.call('HDEL', hooks_key, '')
  redis.call('ZREM', hooks_order, '')
end
redis.call('HSET', fence_key, nonce, 1)
redis.call('EXPIRE', fence_key, seconds)
if gone then
  redis.call('HDEL', hooks_key, hook_id)
  redis.call('ZREM', hooks_order, hook_id)
end
return {0}
