-- $include lib/codes.lua
-- $include lib/append.lua
-- $include lib/entity.lua
-- What every script for an event starts with: its first seven KEYS and ARGV.
local log = {run = KEYS[1], events = KEYS[2], order = KEYS[3], related = KEYS[4]}
local request = {now = KEYS[5], before = KEYS[6], id = ARGV[1]}
local event = {now = ARGV[2], ulid = ARGV[3], correlation = ARGV[4], record = ARGV[5], payload = ARGV[6]}
local with_payload = ARGV[7] == 'all'

-- replayed returns {id, record, payload, position, note} when a call with this request id
-- was applied before, else nil.
local function replayed()
  local value = redis.call('HGET', request.now, request.id) or redis.call('HGET', request.before, request.id)
  if not value then
    return nil
  end
  local position, note = string.match(value, '^(%d+) ?(%d*)$')
  local first = event_at(log, position, with_payload)
  return {first[1], first[2], first[3], position, note}
end

-- remember keeps the answer of this call for ten minutes at least.
local function remember(position, note)
  redis.call('HSET', request.now, request.id, note and (position .. ' ' .. note) or position)
  redis.call('EXPIRE', request.now, 1200)
end

-- run_state returns the status (false: no such run) and the spec version of the run.
local function run_state()
  local state = redis.call('HMGET', log.run, 's', 'v')
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
