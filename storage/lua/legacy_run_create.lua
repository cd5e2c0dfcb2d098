-- legacy_run_create: runs.create of spec 1 (contract §9). The run id belongs to the call: if the run
-- exists, an earlier try created it.
-- KEYS: run removed
-- ARGV: now deployment name input context
-- CODES: DONE REPLAYED RUN_REMOVED
-- REPLY: DONE createdAt | REPLAYED createdAt
-- $include lib/codes.lua
local run_key = KEYS[1]
local removed_key = KEYS[2]
local now = ARGV[1]
local deployment = ARGV[2]
local name = ARGV[3]
local input = ARGV[4]
local context = ARGV[5] -- '' for none

local created = redis.call('HGET', run_key, 'c')
if created then
  return {REPLAYED, created}
end
if redis.call('EXISTS', removed_key) == 1 then
  return {RUN_REMOVED}
end
redis.call('HSET', run_key, 's', 'pending', 'c', now, 'u', now, 'd', deployment, 'n', name, 'in', input)
if context ~= '' then
  redis.call('HSET', run_key, 'xc', context)
end
return {DONE, now}
