-- $include lib/log.lua
-- A hook of a legacy call has no event. Its record is in the hash of events, in a field that no event
-- has, and stays there when the hook is gone.
local NO_POSITION = '9999999'

local function legacy_hook(log, hook, with_payload)
  return load_record(log, 'hook/' .. hook, with_payload)
end

local function store_legacy_hook(log, hook, record, payload)
  redis.call('HSET', log.events, 'hook/' .. hook, record)
  if payload ~= '' then
    redis.call('HSET', log.events, 'hook/' .. hook .. '/p', payload)
  end
end
