-- $include lib/codes.lua
-- $include lib/append.lua
-- $include lib/entity.lua
-- Every script for an event starts with this: its first five KEYS and seven ARGV.
-- A table that has all its fields from the beginning avoids growing, which is expensive.
local log = {run = KEYS[1], events = KEYS[2], related = KEYS[3], status = false, spec = 0, purged = false, count = '0',
  last = false, saved = '0', first_bucket = false, earlier_bucket = false, expires = false, new_bucket = false, stamp = false}
local request = {now = KEYS[4], before = KEYS[5], id = ARGV[1]}
local event = {now = ARGV[2], correlation = ARGV[3], record = ARGV[4], payload = ARGV[5]}
local with_payload = ARGV[6] == 'all'
-- The question asks for a delta, the events that the caller does not have yet: 'a<p>' for all after position p, 'b<p>' for those
-- between p and the caller's own event, '' for none. It may be followed by '@' and the last event that the caller has got, as
-- has_end reads it (lib/log.lua).
local asked, seen = ARGV[7], false
local seen_at = string.find(asked, '@', 1, true)
if seen_at == 1 then
  seen = asked
  asked = '' -- not in one statement: the Lua of the embedded Redis confuses the two
elseif seen_at then
  seen = string.sub(asked, seen_at)
  asked = string.sub(asked, 1, seen_at - 1)
end
local DELTA_BYTES = 4194304

-- bucket is the number of request.now: a bucket takes new ids for ten minutes (storage/keys.go).
local bucket = math.floor(event.now / 600000)

-- first_bucket returns the number of the first bucket to store with the run. A batch is remembered even if there was no run
-- yet.
local function first_bucket()
  return string.format('%d', bucket - redis.call('EXISTS', request.before))
end

-- try_memory fails if Redis has no memory for a write. Redis checks that only at the first write of a script, and only for
-- commands that need memory. So it comes before all other commands that are made to see whether Redis refuses them.
local function try_memory()
  if not log.has_memory then
    redis.call('ZADD', log.related, 'XX', '0', '')
    log.has_memory = true
  end
end

-- A command that Redis refuses stops a script where it is, and what it has written stays. So a script reads first. Its first
-- write is the record of the event, which nobody sees before the run counts it; then comes ZADD. Each other command that it
-- will need is made before that in a way that changes nothing. So a refused call has done nothing, and its repetition does all.
-- try_remembering does that for remember.
local function try_remembering()
  if not log.first_bucket or bucket < tonumber(log.first_bucket) then
    log.earlier_bucket = first_bucket()
  end
  if not log.expires then
    log.new_bucket = not log.status or redis.call('HLEN', request.now) == 0
    if log.new_bucket then
      try_memory()
      redis.call('EXPIRE', request.now, '1200')
    end
  end
end

-- read_run loads the state of the run and its log: the status (false if there is no such run), the spec version, and the first
-- bucket of request ids of the run. The call that created the run remembered that bucket, and that it expires.
local function read_run()
  local state = redis.call('HMGET', log.run, 's', 'v', 'x', 'en', 'et', 'rb')
  log.status, log.spec = state[1], tonumber(state[2] or 0)
  log.purged = state[3] -- events from now on are kept without their payloads
  log.count, log.last = state[4] or '0', state[5]
  log.saved, log.first_bucket = log.count, state[6]
  log.expires = state[6] and tonumber(state[6]) == bucket
  try_remembering()
end

-- read_whole_run does the same and returns all fields of the run by their names.
local function read_whole_run()
  local run = fields_of(log.run)
  log.status, log.spec, log.purged = run.s, tonumber(run.v or 0), run.x
  log.count, log.last = run.en or '0', run.et
  log.saved, log.first_bucket = log.count, run.rb
  log.expires = run.rb and tonumber(run.rb) == bucket
  try_remembering()
  return run
end

-- delta returns {count, record, payload, ...} for the events up to position last, or
-- false when the caller asked for none. There are fewer than count when they are too big or too many.
local function delta(last)
  if asked == '' then
    return false
  end
  local first = tonumber(string.sub(asked, 2)) + 1
  if first > last then
    return {0}
  end
  local _, page = reader()
  local events = page(log, first, math.min(last, first + PAGE_EVENTS - 1), DELTA_BYTES, 0, with_payload)
  table.insert(events, 1, last - first + 1)
  return events
end

-- remembered returns what a call with this request id left, otherwise false. No bucket is older than the run's first one.
local function remembered()
  local value = redis.call('HGET', request.now, request.id)
  if not value and (not log.first_bucket or bucket > tonumber(log.first_bucket)) then
    value = redis.call('HGET', request.before, request.id)
  end
  return value
end

-- demand_end stops a script, before it writes, if the log does not have the last event that the caller got: a Redis has taken
-- over that lacks the last writes of the one before it, and the caller decided on the basis of lost events. A longer log is
-- fine. storage/log_end.go knows the text.
local function demand_end()
  if seen and log.status and not has_end(log, seen) then
    error('LOGENDS after ' .. log.count .. ' events, and not with ' .. seen)
  end
end

-- replayed returns {REPLAYED, record, payload, position, note, delta} if a call with this request id was applied before,
-- otherwise nil; the script adds the rest of the answer. The delta is that of the first answer. The payload is always there: it
-- may be an error, which entities keep without payloads, too. A call that was not applied before stops if the log has lost its
-- end.
local function replayed()
  local value = remembered()
  if not value then
    demand_end()
    return nil
  end
  local position, note = string.match(value, '^(%d+) ?(%d*)$')
  local event_at = reader()
  local record, payload = event_at(log, position, true)
  return {REPLAYED, record, payload, position, note, delta(tonumber(position) - 1)}
end

-- recorded returns the same for an event that another call appended; the delta extends to the end of the log.
local function recorded(position)
  local event_at = reader()
  local record, payload = event_at(log, position, true)
  local last = (string.sub(asked, 1, 1) == 'b' and position or log.count) - 1
  return {RECORDED, record, payload, position, '', delta(last)}
end

-- remember writes the state of the log, unless that is done, and keeps what a request id stands for, for at least ten minutes.
-- A run without events may not exist.
local function remember(value)
  if log.count ~= '0' and log.earlier_bucket then
    set_run(log, 'rb', log.earlier_bucket)
  elseif log.saved ~= log.count then
    set_run(log)
  end
  redis.call('HSET', request.now, request.id, value)
  if log.new_bucket then
    redis.call('EXPIRE', request.now, '1200')
  end
end

-- finish completes the reply of an event that was applied now, {DONE, createdAt, position, false, ...}. It remembers the call,
-- with the reply's note if it has one, adds the delta, and says whether the event's id is its slot. Refusals are returned as
-- they are.
local function finish(reply)
  if reply[1] == DONE then
    local position = reply[3]
    remember(reply.note and (position .. ' ' .. reply.note) or position)
    reply[2], reply[4] = log.stamp, asked ~= '' and delta(position - 1)
  end
  return reply
end

local function ended(status)
  return status == 'completed' or status == 'failed' or status == 'cancelled'
end

-- refused returns the refusal for a run whose spec version has other rules, otherwise nil.
local function refused(spec)
  if spec > WORLD_SPEC then
    return {RUN_TOO_NEW, spec}
  end
  if spec <= 1 then
    return {RUN_LEGACY, spec}
  end
  return nil
end

-- child_refused is the same for an event that creates an entity of the run.
local function child_refused()
  if not log.status then
    return {RUN_MISSING}
  end
  local refusal = refused(log.spec)
  if not refusal and ended(log.status) then
    refusal = {RUN_CLOSED, log.status}
  end
  return refusal
end
