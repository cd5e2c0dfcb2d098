-- unlist takes a message off the list of its run's messages; run is the field of the message,
-- which one from before these lists has not. sibling is any key of the queue's own.
-- $include lib/own_key.lua
local function unlist(sibling, run, id)
  if run then
    redis.call('SREM', own_key(sibling, 'of:' .. run), id)
  end
end
