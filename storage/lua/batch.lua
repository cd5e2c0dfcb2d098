-- batch: several events of one run, in order, at consecutive positions. An event that is refused is
-- left out; the others are applied (contract §3.9).
-- KEYS: run events related request_now request_before hooks hooks_order hooks_left channel steps
--       then the step of each event, for events without a step any key of the run
-- ARGV: request now correlation record payload want question
--       then for each event: type correlation record payload extra
--       extra is retry_after of step_retrying, or which event of the batch creates the step of step_started, or ''
-- CODES: DONE REPLAYED RUN_CLOSED RUN_ENDED RUN_EXPIRED RUN_LEGACY RUN_MISSING RUN_TOO_NEW STEP_ENDED STEP_EXISTS STEP_MISSING STEP_TOO_EARLY STEPS_WRONG WAIT_ENDED WAIT_EXISTS WAIT_MISSING
-- REPLY: DONE {reply, ...} | REPLAYED {reply, ...} | STEPS_WRONG {step, ...}; each reply is that of the event's own script
--        A record or payload of a step or run that does not fit is its length
-- $include lib/event.lua
-- $include lib/apply_step_create.lua
-- $include lib/apply_step_start.lua
-- $include lib/apply_step_end.lua
-- $include lib/apply_step_retry.lua
-- $include lib/apply_wait_create.lua
-- $include lib/apply_wait_complete.lua
-- $include lib/apply_run_end.lua
-- $include lib/step_wrong.lua
-- $include lib/many.lua
local hooks_key = KEYS[6]
local hooks_order = KEYS[7]
local left_key = KEYS[8]
local channel = KEYS[9]
local steps_key = KEYS[10]
local replies = {}

-- end_run first writes the events before it: the end of a run that keeps nothing removes their payloads.
local function end_run(item, status, reference)
  write_held(log)
  return apply_run_end(item, fields_of(log.run), status, reference, hooks_key, hooks_order, left_key)
end

local apply = {
  step_created = function(item) return apply_step_create(item, item.step_key, steps_key) end,
  step_started = function(item)
    -- If another call has created the step, the start is refused as well.
    local created = item.extra ~= '' and replies[tonumber(item.extra)]
    if created and created[1] ~= DONE then
      return created
    end
    return apply_step_start(item, item.step_key)
  end,
  step_completed = function(item) return apply_step_end(item, item.step_key, 'completed', 'oe', false) end,
  step_failed = function(item) return apply_step_end(item, item.step_key, 'failed', 'ee', true) end,
  step_retrying = function(item) return apply_step_retry(item, item.step_key, item.extra) end,
  wait_created = apply_wait_create,
  wait_completed = apply_wait_complete,
  run_completed = function(item) return end_run(item, 'completed', 'oe') end,
  run_failed = function(item) return end_run(item, 'failed', 'ee') end,
}

-- again rebuilds the replies of all events from what was remembered of them.
local function again(items, kept)
  local positions = {}
  for i = 1, #items do
    local code, detail = string.match(kept[i], '^!(%-%d+) (.*)$')
    if code then
      replies[i] = {tonumber(code), detail}
    else
      local position, note = string.match(kept[i], '^(%d+) (%d*)$')
      positions[#positions + 1] = position
      replies[i] = {REPLAYED, false, false, position, note, false}
    end
  end
  local records, payloads = read_events(log, positions)
  for i, item in ipairs(items) do
    local first = replies[i]
    if first[1] == REPLAYED then
      first[2], first[3] = records[first[4]], payloads[first[4]] or false
      if string.sub(item.type, 1, 4) == 'step' then
        add_step(log, first, step_of(item.step_key), '', with_payload)
      elseif item.type == 'wait_completed' then
        first[7] = first_event(item.correlation)
      elseif item.type ~= 'wait_created' then
        first[7] = leave(left_key, {})
        add_entity(log, first, fields_of(log.run), '', with_payload)
      end
    end
  end
end

-- look reads the step or wait of an event, and reports whether the state of the step will refuse the event. Whatever may fail
-- fails here, before anything is written.
local function look(item)
  if item.type == 'wait_completed' then
    item.wait, item.last = read_wait(item.correlation)
  elseif item.type == 'step_created' then
    item.exists = redis.call('EXISTS', item.step_key) == 1
    return item.exists
  elseif string.sub(item.type, 1, 4) == 'step' and (item.type ~= 'step_started' or item.extra == '') then -- otherwise an earlier event creates it
    item.step = step_of(item.step_key)
    return not item.step[1] or ended(item.step[1])
  end
end

-- try_all makes the commands that only a later event may need in a way that changes nothing: a command that Redis refuses must
-- be refused before the first event is written.
local function try_all()
  local nothing = '[/'
  try_memory()
  redis.call('HDEL', log.run, '')
  redis.call('DEL', channel) -- no key has its name
  redis.call('ZREM', steps_key, '')
  redis.call('EXISTS', log.run)
  redis.call('HSTRLEN', log.run, '')
  redis.call('HMGET', log.run, '')
  redis.call('HKEYS', left_key)
  redis.call('HGETALL', left_key)
  redis.call('HLEN', left_key)
  redis.call('HSCAN', left_key, '0', 'COUNT', 1)
  redis.call('ZRANGEBYLEX', log.related, nothing, nothing)
  redis.call('ZREVRANGEBYLEX', log.related, nothing, nothing)
end

log.later, log.held = {}, {fields = {}, related = {}}
read_run()
local status_before = log.status
local before = remembered()
local items, kept = {}, {}
for i = 1, (#ARGV - 7) / 5 do
  local at = 7 + 5 * (i - 1)
  items[i] = {
    now = event.now, type = ARGV[at + 1], correlation = ARGV[at + 2],
    record = ARGV[at + 3], payload = ARGV[at + 4], extra = ARGV[at + 5], step_key = KEYS[10 + i],
  }
end
if before then
  for one in string.gmatch(before, '([^;]*);') do
    kept[#kept + 1] = one
  end
  again(items, kept)
  read_later(log, PAGE_ROOM)
  return {REPLAYED, replies}
end
demand_end()
-- A step is rebuilt as for a single event (storage/step_mend.go), but before all events, so the batch stays in one piece.
local wrong = {}
for _, item in ipairs(items) do
  if look(item) and log.spec > 1 and step_wrong(log, item.step_key, item.correlation) then
    wrong[#wrong + 1] = item.correlation
  end
end
if #wrong > 0 then
  return {STEPS_WRONG, wrong}
end
try_all()
for i, item in ipairs(items) do
  local reply = apply[item.type](item)
  replies[i] = reply
  if reply[1] == DONE then
    reply[2] = log.stamp
    kept[i] = reply[3] .. ' ' .. (reply.note or '') .. ';'
  else
    kept[i] = '!' .. reply[1] .. ' ' .. (reply[2] or '') .. ';'
  end
end
write_held(log)
read_later(log, PAGE_ROOM)
remember(table.concat(kept))
if ended(log.status) and not ended(status_before) then
  announce_end(channel, {DONE})
end
return {DONE, replies}
