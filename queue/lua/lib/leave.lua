-- leave ends the lease of a message. It is false, and changes nothing,
-- if owner no longer has the message: its lease has lapsed and another
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
