-- free_key frees the idempotency key of a message that is done or dead. field is that of
-- the message, if it has one.
local function free_key(keys, field, id)
  if field and redis.call('HGET', keys, field) == id then
    redis.call('HDEL', keys, field)
  end
end
