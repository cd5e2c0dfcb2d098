-- chunk_page: read a page of chunks and the stream's state at the same moment.
--
-- KEYS  1 stream   2 meta
-- ARGV  1 index of the first chunk   2 most chunks (at least 1)
--       3 bytes that the page has room for; it ends before the first chunk that has none
-- Reply {0, count of chunks, 1 when closed else 0, bytes of the largest chunk, next, run, bytes of a chunk…}
--              count and closed as a reader from that index finds them: up to the first end at or after
--              it; next is the index behind that end if there are chunks behind it, else 0; run is the one that
--              may keep nothing, else empty
--       {-1}   records that the state counts are not there
local stream, meta = KEYS[1], KEYS[2]
local from, most, budget = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])

local LOOKED_AT = 1048576 -- bytes

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

-- Its size is known only once a chunk is read. Of a stream with a very large one none is, for it would be
-- copied for nothing.
if largest > math.max(budget, LOOKED_AT) then return reply end

-- Ask for no more than fits if all were as large as the largest, then for what is left:
-- one XRANGE for a usual stream, and never a flood of large chunks.
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
