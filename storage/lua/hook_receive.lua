-- hook_receive: hook_received; a resume id is good for one event of the run (contract §3.6).
-- KEYS: run events order related request_now request_before hooks resumes
-- ARGV: request now ulid correlation record payload want resume digest
-- CODES: DONE REPLAYED RUN_EXPIRED RUN_TOO_NEW RUN_LEGACY HOOK_MISSING RESUME_TAKEN
-- REPLY: DONE {id, createdAt, position} | REPLAYED {id, record, payload, position, note}
-- $include lib/event.lua
local hooks_key = KEYS[7]
local resumes_key = KEYS[8]
local resume = ARGV[8] -- '' for none
local digest = ARGV[9] -- of the payload, '' for unknown

local first = replayed()
if first then
  return {REPLAYED, first}
end
local taken = resume ~= '' and redis.call('HGET', resumes_key, resume)
if taken then
  local position, hook, seen_digest = string.match(taken, '^(%d+) (%S+) (.*)$')
  if hook ~= event.correlation or (digest ~= '' and seen_digest ~= '' and digest ~= seen_digest) then
    return {RESUME_TAKEN}
  end
  local before = event_at(log, position, with_payload)
  return {REPLAYED, {before[1], before[2], before[3], position}}
end
local status, spec = run_state()
local refusal = status and refused(spec)
if refusal then
  return refusal
end
if redis.call('HEXISTS', hooks_key, event.correlation) == 0 then
  return {HOOK_MISSING}
end
if ended(status) then
  return {RUN_EXPIRED, status}
end

local added = append(log, spec, event, event.record, event.payload)
if resume ~= '' then
  redis.call('HSET', resumes_key, resume, added[3] .. ' ' .. event.correlation .. ' ' .. digest)
end
remember(added[3])
return {DONE, added}
