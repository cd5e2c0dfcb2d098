-- unlist removes a message from the set of its run's messages. run is the field of the message,
-- which a message of a version without these sets lacks. sibling is any of our own keys of the queue.
-- $include lib/own_key.lua
local function unlist(sibling, run, id)
  if run then
    redis.call('SREM', own_key(sibling, 'of:' .. run), id)
  end
end
