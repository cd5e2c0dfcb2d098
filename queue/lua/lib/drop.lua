-- drop removes a message that nobody needs any more, with its key and its place in the list
-- of its run. sibling is any key of the queue's own.
-- $include lib/free_key.lua
-- $include lib/unlist.lua
local function drop(task, id, sibling)
  free_key(task, own_key(sibling, 'idempotency'), id)
  unlist(task, id, sibling)
  redis.call('DEL', task)
end
