-- leave takes a message out of the hands that hold it. It is false, and changes nothing,
-- when the message is no longer in the hands of owner: its lease lapsed and another
-- delivery has begun, or it is gone.
local function leave(task, active, lease, id, owner)
  if redis.call('HGET', task, 'owner') ~= owner then
    return false
  end
  redis.call('LREM', active, 1, id)
  redis.call('ZREM', lease, id)
  redis.call('HDEL', task, 'owner')
  return true
end
