-- run_remove: takes a run that has ended out of sight for good. From then on no reader finds it and no call creates it anew. The
-- rest of its data is removed after this script, in portions (storage/remove.go).
-- KEYS: run removed hooks left_hooks hooks_order fence request_now request_before
-- ARGV: now name
-- CODES: DONE UNCHANGED RUN_MISSING RUN_ACTIVE RUN_HELD RUN_UNCLEARED
-- REPLY: DONE name | UNCHANGED name or '': removed before | RUN_ACTIVE status
-- $include lib/codes.lua
local run_key = KEYS[1]
local removed_key = KEYS[2]
local hooks_key = KEYS[3]
local left_key = KEYS[4]
local hooks_order = KEYS[5]
local fence_key = KEYS[6]
local request_now = KEYS[7]
local request_before = KEYS[8]
local now = ARGV[1]
local name = ARGV[2]

local run = redis.call('HMGET', run_key, 's', 'cl', 'ca')
local status = run[1]
if not status then
  if redis.call('EXISTS', removed_key) == 1 then
    return {UNCHANGED, redis.call('HGET', removed_key, 'w') or ''}
  end
  return {RUN_MISSING}
end
if status ~= 'completed' and status ~= 'failed' and status ~= 'cancelled' then
  return {RUN_ACTIVE, status}
end
if run[2] or redis.call('EXISTS', left_key) == 1 then
  return {RUN_UNCLEARED}
end
if redis.call('EXISTS', hooks_key) == 1 then
  return {RUN_HELD}
end
redis.call('HDEL', removed_key, '') -- a refusal must come before anything is written
redis.call('UNLINK', removed_key)
redis.call('HSET', removed_key, 's', status, 'ca', run[3] or '', 'at', now, 'w', name)
redis.call('UNLINK', run_key, hooks_order, fence_key, request_now, request_before)
return {DONE, name}
