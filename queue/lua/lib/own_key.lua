-- own_key derives one of our own keys of the queue from another one: they differ only in their
-- last part. So a script that ends a message needs no further keys for what belongs to it.
local function own_key(sibling, name)
  return (string.gsub(sibling, '[^:]*$', '')) .. name
end
