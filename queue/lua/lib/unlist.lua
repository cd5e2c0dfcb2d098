-- unlist takes a message off the list of its run's messages. One without the field is of a
-- time before these lists. sibling is any key of the queue's own.
-- $include lib/own_key.lua
local function unlist(task, id, sibling)
  local run = redis.call('HGET', task, 'run')
  if run then
    redis.call('SREM', own_key(sibling, 'of:' .. run), id)
  end
end
