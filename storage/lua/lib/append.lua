-- $include lib/log.lua
-- append adds one event, {now, correlation, record, payload}, to the log and returns its time and its position, both as text;
-- log.stamp is the time as the record has it. Times never go back, whatever the clocks of the callers say. log.count and
-- log.last are the new state of the log; set_run writes them. A script that appends many events has log.held, {fields = {},
-- related = {}}, which collects what is to be written at once (lib/many.lua).
local function append(log, event)
  local position, created = log.count, event.now
  if log.last and tonumber(log.last) > tonumber(created) then
    created = log.last
  end
  log.stamp = log.spec >= 6 and created .. '.' or created
  local record = log.stamp .. event.record
  if log.purged then
    record = bare(record)
  end
  local held = log.held
  if held then
    local n = #held.fields
    held.fields[n + 1], held.fields[n + 2] = position, record
    if event.payload ~= '' and not log.purged then -- it may be large, so it is not copied again with the others
      redis.call('HSET', log.events, position .. '/p', event.payload)
    end
  elseif event.payload == '' or log.purged then
    redis.call('HSET', log.events, position, record)
  else
    redis.call('HSET', log.events, position, record, position .. '/p', event.payload)
  end
  if event.correlation ~= '' then
    local member = event.correlation .. '/' .. string.format('%07d', position)
    if held then
      held.related[#held.related + 1] = '0'
      held.related[#held.related + 1] = member
    else
      redis.call('ZADD', log.related, '0', member)
    end
  end
  log.count, log.last = string.format('%d', position + 1), created
  return created, position
end

-- set_run sets fields of the run, and with them the state of the log.
local function set_run(log, ...)
  redis.call('HSET', log.run, 'en', log.count, 'et', log.last, ...)
  log.saved = log.count
end
