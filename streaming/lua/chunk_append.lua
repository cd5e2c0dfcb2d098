-- chunk_append: store chunks at the end of a stream, once, and ring its doorbell; or only check whether they would be
-- refused; or begin and end a transaction (MULTI) that stores them without Lua, which would copy each of them twice
-- more. "open" checks whether the chunks may be stored, and where. If so, it renames the stream to its second name,
-- and the XADD commands in between find the stream only under that name. "commit" restores the name and does the rest
-- of an append. Nobody sees a stream under its second name.
--
-- A write of the step that closed the stream goes after that end, which keeps its own index. So does a write of any
-- step if those that closed it are no longer in any log.
--
-- KEYS  1 stream   2 meta   3 channel   4 5 6 request buckets: of now, before, after   7 second name of the stream
-- ARGV  1 request, 16 bytes; empty: do not remember the request
--       2 life of a request bucket, in seconds
--       3 writer; empty: none    4 sequence of the first chunk, per writer
--       5 bytes of the largest chunk of this call
--       6 now, in ms    7 run that the stream belongs to; empty if its name contains it
--       8 most chunks that the stream may have after this call
--       9 count of the chunks
--       10 step that writes, "<attempt> <step>"; several, separated by spaces, if one of them writes; empty: none
--       11 life of the stream from now on, in seconds; 0: it does not expire
--       12 the steps that closed the stream, as stored in its state, if none of them is in a log any more; otherwise empty
--       13 store, check, open or commit
--       14 open: the index that the first chunk must get, not 0
--          store: 14… pairs: bytes of the chunk, bytes of its ULID
-- Reply {0, first index}   stored, or would be
--       {1, first index}   stored before; -1 if the index is no longer known
--       {-1}               refused: the stream is closed
--       {-2, expected}     refused: the writer's numbering has a gap
--       {-3, chunks}       refused: the stream has this many, and would have too many
--       {2, chunks}        open: the tail is elsewhere, or not all chunks are new
--       {3, 0}             commit: not open
--       {4, chunks}        open: the chunks come after an end, which only store does
-- $include lib/both.lua
local stream, meta, channel = KEYS[1], KEYS[2], KEYS[3]
local request, ttl = ARGV[1], tonumber(ARGV[2])
local writer, sequence, largest = ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5])
local now, run, most = ARGV[6], ARGV[7], tonumber(ARGV[8])
local count = tonumber(ARGV[9])
local steps, life = ARGV[10], tonumber(ARGV[11])
local gone, how = ARGV[12], ARGV[13]
local FIRST_PAIR = 14
local MOST_ENDS = 1000 -- inner ends

local function integer(n)
  return string.format('%.0f', n)
end

if how == 'commit' then
  if redis.call('EXISTS', KEYS[7]) == 0 then return {3, 0} end
  redis.call('RENAME', KEYS[7], stream)
end

if request ~= '' then
  -- Three buckets: replicas whose clocks disagree still find each other's records.
  for bucket = 4, 6 do
    local first = redis.call('HGET', KEYS[bucket], request)
    if first then return {1, tonumber(first)} end
  end
end

local state = redis.call('HMGET', meta, 'n', 'eof', 'mx', 'by', 'r')
local n, closed, known_largest, by = tonumber(state[1] or '0'), state[2], tonumber(state[3] or '0'), state[4]

-- by is "<c or w> <attempt> <step>": the step that closed the stream (c), otherwise the last one that
-- wrote (w), with its latest attempt. It changes only if this step writes. If several steps may have
-- made that call, it lists all of them until one of them is known to write.
local by_kind, by_steps = string.match(by or '', '^(%a) (.+)$')
local same = both(steps, by_steps)
local taken_over = gone ~= '' and gone == by

-- The end that these chunks come after. A closed stream without a record of its end was purged.
local inner, inner_ends
if closed and by_kind == 'c' and (#same > 0 or taken_over) and redis.call('XLEN', stream) == n + 1 then
  inner_ends = redis.call('HGET', meta, 'ie') or ''
  local _, ends = string.gsub(inner_ends, '%d+', '')
  if ends < MOST_ENDS then
    inner = n
    n = n + 1
  end
end

-- A writer's record is "<next sequence> <sequence> <index>": the last two are the start of its latest
-- run of consecutive chunks, from which the index of a repeat follows.
local writer_field = 'w:' .. writer
local skip, run_sequence, run_first, answer = 0, sequence, n, n
if writer ~= '' then
  local record = redis.call('HGET', meta, writer_field)
  if record then
    local next_s, run_s, first_s = string.match(record, '^(%d+) (%d+) (%d+)$')
    local expected = tonumber(next_s)
    if sequence > expected then return {-2, expected} end
    run_sequence, run_first = tonumber(run_s), tonumber(first_s)
    skip = math.min(expected - sequence, count)
    if skip > 0 then
      answer = -1
      if sequence >= run_sequence then answer = run_first + sequence - run_sequence end
      if skip == count then return {1, answer} end
      if answer < 0 then answer = n end
    end
    if run_first + expected - run_sequence ~= n then
      run_sequence, run_first = expected, n
    end
  end
end

if closed and not inner then return {-1} end
if n + count - skip > most then return {-3, n} end
if how == 'check' then return {0, answer} end

-- A refused command stops the script at that point, and its earlier writes stay. So every command that follows the XADD is
-- also run before it, in a form that no reader sees.
local new_bucket = request ~= '' and redis.call('HLEN', KEYS[4]) == 0
if how ~= 'commit' then
  -- Redis checks for free memory only before the first write, and not for EXPIRE.
  if life == 0 then redis.call('HSET', meta, 't', now) end
  if new_bucket then redis.call('EXPIRE', KEYS[4], ttl) end
  if life > 0 then redis.call('EXPIRE', meta, life) end
  if inner then redis.call('HDEL', meta, '') end
  if life > 0 then redis.call('HSET', meta, 't', now) end
end
if how == 'open' then
  if inner then return {4, n} end
  -- A stream that lacks records is left to store, which reports the usual error.
  if skip > 0 or n ~= tonumber(ARGV[14]) or redis.call('XLEN', stream) ~= n or redis.call('EXISTS', KEYS[7]) == 1 then return {2, n} end
  redis.call('RENAME', stream, KEYS[7])
  return {0, answer}
end

if how == 'commit' then
  n = n + count
  if redis.call('XLEN', stream) ~= n then return redis.error_reply('ERR a chunk was not stored') end
else
  for i = skip, count - 1 do
    local at = FIRST_PAIR + 2 * i
    redis.call('XADD', stream, integer(n + 1) .. '-0', 'd', ARGV[at], 'u', ARGV[at + 1])
    n = n + 1
  end
end
local fields = {'n', integer(n), 'mx', integer(math.max(known_largest, largest)), 't', now}
local function set(field, value)
  fields[#fields + 1] = field
  fields[#fields + 1] = value
end
if inner then
  if inner_ends ~= '' then inner_ends = inner_ends .. ' ' end
  set('ie', inner_ends .. integer(inner))
end
if steps ~= '' then
  local record = 'w ' .. steps
  if #same > 0 then
    record = by_kind
    for _, s in ipairs(same) do
      local latest = s[2]
      -- Chunks after an end belong to the attempt that starts writing there.
      if not inner then latest = math.max(s[2], s[3]) end
      record = record .. ' ' .. integer(latest) .. ' ' .. s[1]
    end
  end
  if record ~= by and (#same > 0 or taken_over or by_kind ~= 'c') then set('by', record) end
end
if run ~= '' and not state[5] then set('r', run) end
if writer ~= '' then
  set(writer_field, integer(sequence + count) .. ' ' .. integer(run_sequence) .. ' ' .. integer(run_first))
end
redis.call('HSET', meta, unpack(fields))
if inner then redis.call('HDEL', meta, 'eof') end
if request ~= '' then
  redis.call('HSET', KEYS[4], request, integer(answer))
  if new_bucket then redis.call('EXPIRE', KEYS[4], ttl) end
end
if life > 0 then
  redis.call('EXPIRE', stream, life)
  redis.call('EXPIRE', meta, life)
end
redis.pcall('PUBLISH', channel, integer(n))
return {0, answer}
