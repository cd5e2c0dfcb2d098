-- run_clear: the next portion of what the end of a large run left. It removes the payloads of a run that keeps nothing. When
-- none are left it returns the hooks to remove next, which the caller removes with what they have in other slots. Each call
-- continues where the last one stopped, so a repeated call does more and nothing wrong.
-- KEYS: run events hooks hooks_order
-- ARGV: now events hooks
-- CODES: DONE UNCHANGED RUN_MISSING
-- REPLY: DONE more {hook id, hook, ...} | UNCHANGED nothing is left
-- $include lib/codes.lua
-- $include lib/log.lua
-- $include lib/purge.lua
-- $include lib/hook.lua
local log = {run = KEYS[1], events = KEYS[2]}
local hooks_key = KEYS[3]
local hooks_order = KEYS[4]
local now = ARGV[1]
local most_events = tonumber(ARGV[2])
local most_hooks = tonumber(ARGV[3])

-- cl is the position up to which payloads are removed, ch the last hook of those that outlive the run.
local state = redis.call('HMGET', log.run, 's', 'cl', 'ch', 'x', 'en')
if not state[1] then
  return {RUN_MISSING}
end
if not state[2] then
  return {UNCHANGED}
end
local first, last = tonumber(state[2]), tonumber(state[5] or 0) - 1
if state[4] and first <= last then
  last = math.min(last, first + most_events - 1)
  purge(log, first, last)
  redis.call('HSET', log.run, 'cl', string.format('%d', last + 1))
  return {DONE, 1, {}}
end

local rank = state[3] and redis.call('ZRANK', hooks_order, state[3])
local from = rank and rank + 1 or 0
local ids = redis.call('ZRANGE', hooks_order, from, from + most_hooks - 1)
if #ids == 0 then
  return {DONE, 0, {}}
end
local hooks = redis.call('HMGET', hooks_key, unpack(ids))
local gone, nobody, passed = {}, {}, false
for i, id in ipairs(ids) do
  if not hooks[i] then
    nobody[#nobody + 1] = id
  elseif not retained(hooks[i], now) then
    gone[#gone + 1] = id
    gone[#gone + 1] = hooks[i]
  elseif #gone == 0 then
    passed = id -- those after one that is to be removed are checked again
  end
end
if #nobody > 0 then
  redis.call('ZREM', hooks_order, unpack(nobody))
end
if passed then
  redis.call('HSET', log.run, 'ch', passed)
end
return {DONE, #ids == most_hooks and 1 or 0, gone}
