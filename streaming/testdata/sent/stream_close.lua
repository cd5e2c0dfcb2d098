local function both(call, record)
  local attempts, found = {}, {}
  for attempt, step in string.gmatch(record or '', '(%d+) (%S+)') do attempts[step] = tonumber(attempt) end
  for attempt, step in string.gmatch(call, '(%d+) (%S+)') do
    if attempts[step] then found[#found + 1] = {step, tonumber(attempt), attempts[step]} end
  end
  return found
end
local stream, meta, channel = KEYS[1], KEYS[2], KEYS[3]
local request, ttl = ARGV[1], tonumber(ARGV[2])
local steps, life = ARGV[3], tonumber(ARGV[4])
local function integer(n)
  return string.format('%.0f', n)
end
local state = redis.call('HMGET', meta, 'n', 'eof', 'by')
local n, closed, by = tonumber(state[1] or '0'), state[2], state[3]
if closed then return {1, n} end
if steps ~= '' then
  for bucket = 4, 6 do
    if redis.call('HEXISTS', KEYS[bucket], request) == 1 then return {1, n} end
  end
  local open = false
  local same = both(steps, string.match(by or '', '^%a (.+)$'))
  for _, s in ipairs(same) do open = open or s[3] <= s[2] end
  local _, callers = string.gsub(steps, '%d+ %S+', '')
  if not open and #same == callers then return {2, n} end
end
local new_bucket = steps ~= '' and redis.call('HLEN', KEYS[4]) == 0
if life == 0 then redis.call('HSET', meta, 'n', integer(n)) end
if new_bucket then redis.call('EXPIRE', KEYS[4], ttl) end
if life > 0 then redis.call('EXPIRE', meta, life) end
if steps == '' and by then redis.call('HDEL', meta, '') end
if life > 0 then redis.call('HSET', meta, 'n', integer(n)) end
redis.call('XADD', stream, integer(n + 1) .. '-0', 'd', '', 'e', '1')
redis.call('HSET', meta, 'n', integer(n), 'eof', '1')
if steps ~= '' then
  redis.call('HSET', meta, 'by', 'c ' .. steps)
  redis.call('HSET', KEYS[4], request, integer(n))
  if new_bucket then redis.call('EXPIRE', KEYS[4], ttl) end
elseif by then
  redis.call('HDEL', meta, 'by')
end
if life > 0 then
  redis.call('EXPIRE', stream, life)
  redis.call('EXPIRE', meta, life)
end
redis.pcall('PUBLISH', channel, 'end')
return {0, n}
