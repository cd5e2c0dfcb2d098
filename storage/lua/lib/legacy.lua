-- $include lib/codes.lua
-- $include lib/entity.lua
-- Every script of a legacy call on an entity starts with this: its first four KEYS and three ARGV.
local log = {run = KEYS[1], events = KEYS[2]}
local request = {now = KEYS[3], before = KEYS[4], id = ARGV[1]}
local now = ARGV[2]
local with_payload = ARGV[3] == 'all'

-- remembered returns what remember kept of a call with this request id, otherwise false.
local function remembered()
  return redis.call('HGET', request.now, request.id) or redis.call('HGET', request.before, request.id)
end

-- try_remembering makes the commands of remember and scalars in a way that changes nothing: a command that Redis refuses must
-- be refused before anything is written.
local function try_remembering()
  redis.call('EXPIRE', request.now, 1200)
  redis.call('HMGET', log.run, '')
  redis.call('HEXISTS', log.run, '')
end

-- remember keeps the answer of this call for at least ten minutes.
local function remember(what)
  redis.call('HSET', request.now, request.id, what)
  redis.call('EXPIRE', request.now, 1200)
end

-- scalars returns what changes of an entity, as text: s u sa ca a ra, and '+' for out and er;
-- '-' is for what is absent.
local function scalars(key)
  local values = redis.call('HMGET', key, 's', 'u', 'sa', 'ca', 'a', 'ra')
  for i = 1, 6 do
    values[i] = values[i] or '-'
  end
  values[7] = redis.call('HEXISTS', key, 'out') == 1 and '+' or '-'
  values[8] = redis.call('HEXISTS', key, 'er') == 1 and '+' or '-'
  return table.concat(values, ' ')
end

-- later returns the time of a change: an entity's times never go back, whatever the clocks say.
local function later(last)
  if last and tonumber(last) > tonumber(now) then
    return last
  end
  return now
end

local function ended(status)
  return status == 'completed' or status == 'failed' or status == 'cancelled'
end

-- change_status returns the fields that a change of status sets, as {field, value, ...}, and a function that adds a field unless
-- its value is ''. started is the time of the first start, false if there was none.
local function change_status(at, new_status, started)
  local changes = {'u', at}
  local function change(field, value)
    if value ~= '' then
      changes[#changes + 1] = field
      changes[#changes + 1] = value
    end
  end
  change('s', new_status)
  if new_status == 'running' and not started then
    change('sa', at)
  elseif ended(new_status) then
    change('ca', at)
  end
  return changes, change
end

-- legacy_run returns the status of the run, or nil and the refusal of a legacy call.
local function legacy_run()
  local state = redis.call('HMGET', log.run, 's', 'v')
  if not state[1] then
    return nil, {RUN_MISSING}
  end
  local spec = tonumber(state[2] or 0)
  if spec > 1 then
    return nil, {RUN_MODERN, spec}
  end
  return state[1]
end
