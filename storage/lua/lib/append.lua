-- $include lib/log.lua
-- append adds one event, {now, correlation, record, payload}, and returns when it was created and its position, both
-- as text; log.stamp is the former as the record has it. Times never go back, whatever the clocks of the callers say. log.count and log.last are what the run's
-- hash says of the log; they are kept up to date here.
local function append(log, spec, event)
  local position, created = log.count, event.now
  if log.last and tonumber(log.last) > tonumber(created) then
    created = log.last
  end
  log.stamp = spec < 6 and created .. '.' or created
  local record = log.stamp .. event.record
  if log.purged then
    record = bare(record)
  end
  if event.payload == '' or log.purged then
    redis.call('HSET', log.events, position, record)
  else
    redis.call('HSET', log.events, position, record, position .. '/p', event.payload)
  end
  if event.correlation ~= '' then
    redis.call('ZADD', log.related, '0', event.correlation .. '/' .. string.format('%07d', position))
  end
  log.count, log.last = string.format('%d', position + 1), created
  redis.call('HSET', log.run, 'en', log.count, 'et', created)
  return created, position
end
