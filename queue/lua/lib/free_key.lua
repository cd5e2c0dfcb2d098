-- free_key lets go of the idempotency key of a message that is done or dead.
local function free_key(task, keys, id)
  local field = redis.call('HGET', task, 'key')
  if field and redis.call('HGET', keys, field) == id then
    redis.call('HDEL', keys, field)
  end
end
