-- lead: takes the lease if it is free, renews it if it is the caller's, or returns how long another holder still has
-- it.
-- KEYS: lease term
-- ARGV: holder milliseconds
-- REPLY: number of the term, 0 | 0, ms until the lease lapses
-- The lease is "<number of the term> <holder>".
local lease, term = KEYS[1], KEYS[2]
local holder, ms = ARGV[1], ARGV[2]

local held = redis.call('GET', lease)
if not held then
  local clock = redis.call('TIME')
  local number = clock[1] * 1000 + math.floor(clock[2] / 1000)
  local last = tonumber(redis.call('GET', term) or '0') or 0
  if number <= last then
    number = last + 1
  end
  local text = string.format('%.0f', number)
  redis.call('SET', term, text)
  redis.call('SET', lease, text .. ' ' .. holder, 'PX', ms)
  return {number, 0}
end
local number, owner = string.match(held, '^(%d+) (.*)$')
if owner == holder then
  redis.call('PEXPIRE', lease, ms)
  return {tonumber(number), 0}
end
return {0, redis.call('PTTL', lease)}
