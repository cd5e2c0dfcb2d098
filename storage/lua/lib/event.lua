-- $include lib/codes.lua
-- $include lib/append.lua
-- $include lib/entity.lua
-- What every script for an event starts with: its first six KEYS and eight ARGV.
local log = {run = KEYS[1], events = KEYS[2], order = KEYS[3], related = KEYS[4]}
local request = {now = KEYS[5], before = KEYS[6], id = ARGV[1]}
local event = {now = ARGV[2], ulid = ARGV[3], correlation = ARGV[4], record = ARGV[5], payload = ARGV[6]}
local with_payload = ARGV[7] == 'all'
-- News are events that the caller does not have yet: 'a<p>' asks for all after position p,
-- 'b<p>' for those between p and the caller's own event, '' for none.
local news_kind, news_after = string.match(ARGV[8], '^(%a)(%-?%d+)$')
local NEWS_BYTES = 33554432

-- news returns {count, {id, record, payload, ...}} for the events up to position last, or
-- false when the caller asked for none. There are fewer than count when they are too big.
local function news(last)
  if not news_kind then
    return false
  end
  local first = tonumber(news_after) + 1
  if first > last then
    return {0, {}}
  end
  return {last - first + 1, page(log, first, last, NEWS_BYTES, 0, with_payload)}
end

-- replayed returns {id, record, payload, position, note, news} when a call with this request
-- id was applied before, else nil. The news are those of the first answer. The payload is
-- there in any case: it may be an error, which entities keep without payloads, too.
local function replayed()
  local value = redis.call('HGET', request.now, request.id) or redis.call('HGET', request.before, request.id)
  if not value then
    return nil
  end
  local position, note = string.match(value, '^(%d+) ?(%d*)$')
  local first = event_at(log, position, true)
  return {first[1], first[2], first[3], position, note, news(tonumber(position) - 1)}
end

-- recorded returns the same for an event that another call appended; the news go to the end
-- of the log.
local function recorded(position)
  local before = event_at(log, position, true)
  local last = redis.call('ZCARD', log.order) - 1
  if news_kind == 'b' then
    last = tonumber(position) - 1
  end
  return {before[1], before[2], before[3], position, '', news(last)}
end

-- remember keeps what a request id stands for, ten minutes at least.
local function remember(value)
  redis.call('HSET', request.now, request.id, value)
  redis.call('EXPIRE', request.now, 1200)
end

-- finish completes the reply of an event that was applied now: it remembers the call and adds
-- the news. Refusals pass through.
local function finish(reply)
  if reply[1] == DONE then
    local added = reply[2]
    remember(added.note and (added[3] .. ' ' .. added.note) or added[3])
    added[4] = news(tonumber(added[3]) - 1)
  end
  return reply
end

-- run_state returns the status (false: no such run) and the spec version of the run.
local function run_state()
  local state = redis.call('HMGET', log.run, 's', 'v', 'x')
  log.purged = state[3] -- what comes now is kept without its payload
  return state[1], tonumber(state[2] or 0)
end

local function ended(status)
  return status == 'completed' or status == 'failed' or status == 'cancelled'
end

-- refused returns the refusal for a run whose spec version needs other rules, else nil.
local function refused(spec)
  if spec > WORLD_SPEC then
    return {RUN_TOO_NEW, spec}
  end
  if spec <= 1 then
    return {RUN_LEGACY, spec}
  end
  return nil
end

-- child_refused is the same for an event that creates an entity of the run; it returns the
-- run's spec version, too.
local function child_refused()
  local status, spec = run_state()
  if not status then
    return {RUN_MISSING}, spec
  end
  local refusal = refused(spec)
  if not refusal and ended(status) then
    refusal = {RUN_CLOSED, status}
  end
  return refusal, spec
end
