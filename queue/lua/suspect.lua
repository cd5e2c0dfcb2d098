-- Asks whether a message may be delivered now whose last delivery ended with the app's process. One
-- that has had too many such deliveries in a row is a suspect: of those an app has one at a time.
--
-- KEYS[1] task hash
-- KEYS[2] zset: messages whose last delivery to the app ended with its process
-- KEYS[3] hash: the suspect in the app's hands (id, owner, since, longest, shared), found: when a
--         crash last counted against one, and said: that the log knows of suspects
-- KEYS[4] zset: suspects set aside until it is their turn, those to go first first
-- KEYS[5] the same as KEYS[2], of the app that the message was delivered to before
-- ARGV[1] message id
-- ARGV[2] owner token
-- ARGV[3] task key prefix
-- ARGV[4] its place among those set aside
-- ARGV[5] 1 if the other queue has interrupted deliveries without an answer yet
-- ARGV[6] from how many crashes in a row on a message is a suspect
-- ARGV[7] how long an interrupted delivery is waited for, in seconds
-- ARGV[8] how long a suspect is alone in the app's hands, in ms, and
-- ARGV[9] the same once the suspect that ends the process is found
-- ARGV[10] how long one that was found explains crashes, in seconds
-- ARGV[11] when the keys end, in seconds
-- ARGV[12] 1 if the app is a queue's that has no suspects
-- Reply: {verdict, suspects if the log is to know of them, ms until the next suspect may follow}
--        verdict: 0 no longer the caller's; 1 go on; 2 another suspect is in the app's hands;
--        3 one that is set aside goes first; 4 interrupted deliveries go first
-- $include lib/server_time.lua
-- $include lib/interrupted.lua
-- $include lib/may.lua

may('EXPIRE', 'HMGET', 'HSET', 'ZADD', 'ZRANGE', 'ZREM', 'ZREVRANGE', 'ZSCORE')

local f = redis.call('HMGET', KEYS[1], 'owner', 'crashes', 'counted', 'longest')
if f[1] ~= ARGV[2] then
  return {0, 0, 0}
end
local id, prefix, after, now = ARGV[1], ARGV[3], tonumber(ARGV[6]), server_time()
if KEYS[5] ~= KEYS[2] then
  local crashed = redis.call('ZSCORE', KEYS[5], id)
  if crashed then
    redis.call('ZADD', KEYS[2], crashed, id)
    redis.call('EXPIRE', KEYS[2], ARGV[11])
    redis.call('ZREM', KEYS[5], id)
  end
end
if ARGV[12] == '1' or tonumber(f[2] or '0') < after then
  return {1, 0, 0}
end

local counted, longest = tonumber(f[3] or '0'), tonumber(f[4] or '0')
local s = redis.call('HMGET', KEYS[3], 'id', 'owner', 'since', 'longest', 'found', 'said')
local open, in_hand, suspects = interrupted(KEYS[2], prefix, after, id, now - tonumber(ARGV[7]))
local say = s[6] and 0 or suspects
redis.call('HSET', KEYS[3], 'said', '1')
redis.call('EXPIRE', KEYS[3], ARGV[11])
redis.call('EXPIRE', KEYS[2], ARGV[11])

local found = s[5] and now - tonumber(s[5]) < tonumber(ARGV[10])
local function alone_for(lasted)
  return found and math.min(math.max(tonumber(ARGV[9]), 2 * lasted), tonumber(ARGV[8])) or tonumber(ARGV[8])
end
if s[1] and s[1] ~= id then
  local other = redis.call('HMGET', prefix .. s[1], 'owner', 'alone')
  local held = other[1] and other[1] == s[2] and other[2] == s[2]
  if held and (now - tonumber(s[3])) * 1000 < alone_for(tonumber(s[4])) then
    return {2, say, 0}
  end
end
local first = redis.call('ZRANGE', KEYS[4], 0, 0, 'WITHSCORES')
if first[1] and first[1] ~= id and tonumber(first[2]) < tonumber(ARGV[4]) then
  return {3, say, 0}
end
-- One that a crash has counted against waits for suspects, too, that are still in the app's hands.
if open > 0 or ARGV[5] == '1' or counted > 0 and in_hand > 0 then
  return {4, say, 0}
end
redis.call('HSET', KEYS[3], 'id', id, 'owner', ARGV[2], 'since', string.format('%.3f', now), 'longest', longest,
  'shared', counted == 0 and in_hand > 0 and '1' or '0')
redis.call('HSET', KEYS[1], 'alone', ARGV[2])
redis.call('ZADD', KEYS[2], string.format('%.3f', now), id) -- it is waited for from now on
return {1, say, math.ceil(alone_for(longest))}
