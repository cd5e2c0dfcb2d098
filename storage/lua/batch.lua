-- batch: several events of one run, in their order, on positions that follow each other. An
-- event that is refused is left out; the others stand (contract §3.9).
-- KEYS: run events related request_now request_before hooks hooks_order hooks_left channel steps
--       then the step of each event, for events without a step any key of the run
-- ARGV: request now correlation record payload want news
--       then for each event: type correlation record payload extra
--       extra is retry_after of step_retrying, or which event of the batch creates the step of step_started, or ''
-- CODES: DONE REPLAYED RUN_CLOSED RUN_ENDED RUN_EXPIRED RUN_LEGACY RUN_MISSING RUN_TOO_NEW STEP_ENDED STEP_EXISTS STEP_MISSING STEP_TOO_EARLY WAIT_ENDED WAIT_EXISTS WAIT_MISSING
-- REPLY: DONE {reply, ...} {mended step, ...} | REPLAYED {reply, ...}; each reply is that of the event's own script
--        A record or payload of a step or run that has no room is its length
-- $include lib/event.lua
-- $include lib/step_create.lua
-- $include lib/step_start.lua
-- $include lib/step_end.lua
-- $include lib/step_retry.lua
-- $include lib/wait_create.lua
-- $include lib/wait_complete.lua
-- $include lib/run_end.lua
-- $include lib/step_mend.lua
local hooks_key = KEYS[6]
local hooks_order = KEYS[7]
local left_key = KEYS[8]
local channel = KEYS[9]
local steps_key = KEYS[10]
local replies = {}
local mended = {}

local apply = {
  step_created = function(item) return step_create(item, item.step, steps_key) end,
  step_started = function(item)
    -- A step that another call created is that call's, so its start is refused as well.
    local created = item.extra ~= '' and replies[tonumber(item.extra)]
    if created and created[1] ~= DONE then
      return created
    end
    return step_start(item, item.step)
  end,
  step_completed = function(item) return step_end(item, item.step, 'completed', 'oe', false) end,
  step_failed = function(item) return step_end(item, item.step, 'failed', 'ee', true) end,
  step_retrying = function(item) return step_retry(item, item.step, item.extra) end,
  wait_created = wait_create,
  wait_completed = wait_complete,
  run_completed = function(item) return run_end(item, fields_of(log.run), 'completed', 'oe', hooks_key, hooks_order, left_key, channel) end,
  run_failed = function(item) return run_end(item, fields_of(log.run), 'failed', 'ee', hooks_key, hooks_order, left_key, channel) end,
}

-- again rebuilds the reply of an event from what was remembered of it.
local function again(item, kept)
  local code, detail = string.match(kept, '^!(%-%d+) (.*)$')
  if code then
    return {tonumber(code), detail}
  end
  local position, note = string.match(kept, '^(%d+) (%d*)$')
  local event_at = reader()
  local record, payload = event_at(log, position, true)
  local first = {REPLAYED, record, payload, position, note, false}
  if string.sub(item.type, 1, 4) == 'step' then
    return tell_step(log, first, step_of(item.step), '', with_payload)
  elseif item.type == 'wait_completed' then
    first[7] = first_event(item.correlation)
  elseif item.type ~= 'wait_created' then
    first[7] = leave(left_key, {})
    return tell(log, first, fields_of(log.run), '', with_payload)
  end
  return first
end

log.shared = {events = log.events, room = PAGE_ROOM}
read_run()
local before = remembered()
local kept = {}
for one in string.gmatch(before or '', '([^;]*);') do
  kept[#kept + 1] = one
end
for i = 1, (#ARGV - 7) / 5 do
  local at = 7 + 5 * (i - 1)
  local item = {
    now = event.now, type = ARGV[at + 1], correlation = ARGV[at + 2],
    record = ARGV[at + 3], payload = ARGV[at + 4], extra = ARGV[at + 5], step = KEYS[10 + i],
  }
  if before then
    replies[i] = again(item, kept[i])
  else
    local reply = apply[item.type](item)
    local of_step = reply[1] == STEP_MISSING or reply[1] == STEP_EXISTS or reply[1] == STEP_ENDED
    -- As for an event that comes alone (storage/step_mend.go), but here and now: the batch stands in one piece.
    if of_step and step_mend(log, item.step, steps_key, item.correlation) then
      mended[#mended + 1] = item.correlation
      reply = apply[item.type](item)
    end
    replies[i] = reply
    if reply[1] == DONE then
      reply[2] = log.stamp
      kept[i] = reply[3] .. ' ' .. (reply.note or '') .. ';'
    else
      kept[i] = '!' .. reply[1] .. ' ' .. (reply[2] or '') .. ';'
    end
  end
end
if before then
  return {REPLAYED, replies}
end
remember(table.concat(kept))
return {DONE, replies, mended}
