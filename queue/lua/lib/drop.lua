-- drop removes a message that nobody needs any more, with its key and its place in the list
-- of its run. sibling is any key of the queue's own.
-- $include lib/free_key.lua
-- $include lib/unlist.lua
local function drop(task, id, sibling)
  local f = redis.call('HMGET', task, 'key', 'run')
  free_key(own_key(sibling, 'idempotency'), f[1], id)
  unlist(sibling, f[2], id)
  redis.call('DEL', task)
end
