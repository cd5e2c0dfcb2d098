-- hook_receive: hook_received; a resume id is good for one event of the run (contract §3.6).
-- KEYS: run events order related request_now request_before hooks resumes
-- ARGV: request now ulid correlation record payload want news resume digest want_run
-- CODES: DONE REPLAYED RECORDED RUN_EXPIRED RUN_TOO_NEW RUN_LEGACY HOOK_MISSING RESUME_TAKEN
-- REPLY: DONE {id, createdAt, position, news} run | REPLAYED or RECORDED {id, record, payload, position, note, news} run
-- $include lib/event.lua
-- $include lib/hook.lua
local hooks_key = KEYS[7]
local resumes_key = KEYS[8]
local resume = ARGV[9] -- '' for none
local digest = ARGV[10] -- of the payload, '' for unknown
local want_run = ARGV[11] == '1'

local function the_run()
  return want_run and entity(log, log.run, '', with_payload)
end

local first = replayed()
if first then
  return {REPLAYED, first, the_run()}
end
local taken = resume ~= '' and redis.call('HGET', resumes_key, resume)
if taken then
  local position, hook, seen_digest = string.match(taken, '^(%d+) (%S+) (.*)$')
  if hook ~= event.correlation or (digest ~= '' and seen_digest ~= '' and digest ~= seen_digest) then
    return {RESUME_TAKEN}
  end
  return {RECORDED, recorded(position), the_run()}
end
local status, spec = run_state()
local refusal = status and refused(spec)
if refusal then
  return refusal
end
if not hook_lives(redis.call('HGET', hooks_key, event.correlation), status, event.now) then
  return {HOOK_MISSING}
end
if ended(status) then
  return {RUN_EXPIRED, status}
end

local added = append(log, spec, event)
if resume ~= '' then
  redis.call('HSET', resumes_key, resume, added[3] .. ' ' .. event.correlation .. ' ' .. digest)
end
return finish({DONE, added, the_run()})
