-- drop removes a message that is no longer needed, with its idempotency key and its entry in the set
-- of its run. sibling is any of our own keys of the queue.
-- $include lib/free_key.lua
-- $include lib/unlist.lua
local function drop(task, id, sibling)
  local f = redis.call('HMGET', task, 'key', 'run')
  free_key(own_key(sibling, 'idempotency'), f[1], id)
  unlist(sibling, f[2], id)
  redis.call('DEL', task)
end
