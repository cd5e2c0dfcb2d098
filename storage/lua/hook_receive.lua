-- hook_receive: hook_received; a resume id is good for one event of the run (contract §3.6).
-- KEYS: run events related request_now request_before hooks resumes
-- ARGV: request now correlation record payload want question resume digest want_run
-- CODES: DONE REPLAYED RECORDED RUN_EXPIRED RUN_TOO_NEW RUN_LEGACY HOOK_MISSING RESUME_TAKEN
-- REPLY: DONE createdAt position delta run... | REPLAYED or RECORDED record payload position note delta run...
-- $include lib/event.lua
-- $include lib/hook.lua
local hooks_key = KEYS[6]
local resumes_key = KEYS[7]
local resume = ARGV[8] -- '' for none
local digest = ARGV[9] -- of the payload, '' for unknown
local want_run = ARGV[10] == '1'

-- and_run adds the run to a reply, if it is asked for.
local function and_run(reply)
  return want_run and add_entity(log, reply, fields_of(log.run), '', with_payload) or reply
end

read_run()
local status = log.status
local first = replayed()
if first then
  return and_run(first)
end
local taken = resume ~= '' and redis.call('HGET', resumes_key, resume)
if taken then
  local position, hook, seen_digest = string.match(taken, '^(%d+) (%S+) (.*)$')
  if hook ~= event.correlation or (digest ~= '' and seen_digest ~= '' and digest ~= seen_digest) then
    return {RESUME_TAKEN}
  end
  return and_run(recorded(position))
end
local refusal = status and refused(log.spec)
if refusal then
  return refusal
end
if not hook_lives(redis.call('HGET', hooks_key, event.correlation), status, event.now) then
  return {HOOK_MISSING}
end
if ended(status) then
  return {RUN_EXPIRED, status}
end

local created, position = append(log, event)
if resume ~= '' then
  redis.call('HSET', resumes_key, resume, position .. ' ' .. event.correlation .. ' ' .. digest)
end
return and_run(finish({DONE, created, position, false}))
