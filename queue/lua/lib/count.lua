-- count keeps asynq's own statistics. They use pcall because they must not fail a script that has already changed
-- something: a Redis that is full refuses INCR, but not DEL.
local function count(day, total, expire_at)
  if redis.pcall('INCR', day) == 1 then
    redis.pcall('EXPIREAT', day, expire_at)
  end
  redis.pcall('INCR', total)
end
