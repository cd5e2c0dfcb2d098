-- own_key names another key of the queue's own by one of them: the keys of ours differ in their
-- last part only. So a script that ends a message needs no further keys for what belongs to it.
local function own_key(sibling, name)
  return (string.gsub(sibling, '[^:]*$', '')) .. name
end
