-- chunk_page: read a page of chunks and the stream's state atomically.
--
-- KEYS  1 stream   2 meta
-- ARGV  1 index of the first chunk   2 most chunks (at least 1)
--       3 size of the page, in bytes; it ends before the first chunk that does not fit
-- Reply {0, count of chunks, 1 if closed, otherwise 0, bytes of the largest chunk, next, run, bytes of a chunk…}
--              count and closed are those for a reader from that index: up to the first end at or after
--              it; next is the index after that end if there are chunks after it, otherwise 0; run is the one that
--              may keep nothing, otherwise empty
--       {-1}   records that the state counts are missing
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

-- The size of a chunk is known only once it is read. If the stream has a very large one, none is read, because that
-- copy would be wasted.
if largest > math.max(budget, LOOKED_AT) then return reply end

-- Request as many as fit if all were as large as the largest, then as many as fit into what is left: one XRANGE for
-- an ordinary stream, and never too many large chunks.
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
