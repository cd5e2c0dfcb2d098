-- count keeps asynq's own statistics. They must not fail a script that has changed
-- something already (a Redis that is full refuses INCR, not DEL), hence pcall.
local function count(day, total, expire_at)
  if redis.pcall('INCR', day) == 1 then
    redis.pcall('EXPIREAT', day, expire_at)
  end
  redis.pcall('INCR', total)
end
