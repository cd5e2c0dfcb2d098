local stream, meta = KEYS[1], KEYS[2]
local from, most, budget = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local function integer(n)
  return string.format('%.0f', n)
end
local state = redis.call('HMGET', meta, 'n', 'eof', 'mx', 'ie', 'z')
local n, closed, largest = tonumber(state[1] or '0'), state[2], tonumber(state[3] or '0')
local next = 0
for text in string.gmatch(state[4] or '', '%d+') do
  local inner = tonumber(text)
  if inner >= from then
    if inner < n then n, closed, next = inner, '1', inner + 1 end
    break
  end
end
local reply = {0, n, closed and 1 or 0, largest, next, state[5] or ''}
local last = math.min(n, from + most)
local at = from
if largest > math.max(budget, 1048576) then return reply end
while at < last and budget > 0 do
  local ask = math.min(last - at, math.max(1, math.floor(budget / math.max(1, largest))))
  local rows = redis.call('XRANGE', stream, integer(at + 1) .. '-0', integer(at + ask) .. '-0')
  if #rows ~= ask then return {-1} end
  for _, row in ipairs(rows) do
    local bytes = row[2][2]
    if #bytes > budget then return reply end
    reply[#reply + 1] = bytes
    budget = budget - #bytes
  end
  at = at + ask
end
return reply
