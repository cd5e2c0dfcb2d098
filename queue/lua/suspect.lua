-- suspect: asks whether a message may be delivered now whose last delivery ended with the app's process. A message
-- with too many such deliveries in a row is a suspect. An app has one suspect at a time.
-- KEYS: task interrupted_set suspect set_aside interrupted_before
-- ARGV: id owner prefix place other_queue after waited_for alone alone_once_found explains ttl unsuspected
-- REPLY: {verdict, number of suspects if it is to be logged, ms until the next suspect may follow}
--        verdict: 0 another process has the message; 1 the delivery may begin; 2 the app has another suspect;
--        3 one that is set aside goes first; 4 interrupted deliveries go first
-- $include lib/server_time.lua
-- $include lib/count_interrupted.lua
-- $include lib/may.lua
local task = KEYS[1]
local interrupted_set = KEYS[2] -- zset: messages whose last delivery to the app ended with its process
-- suspect: a hash of the suspect that the app has (id, owner, since, longest, shared), when a crash last counted against one (found),
-- and whether the suspects were logged (said)
local suspect = KEYS[3]
local set_aside = KEYS[4] -- zset: suspects until it is their turn, the next one first
local interrupted_before = KEYS[5] -- interrupted_set of the app that the message was delivered to before
local id = ARGV[1]
local owner = ARGV[2] -- token of the lease
local prefix = ARGV[3] -- of task keys
local place = ARGV[4] -- among those set aside
local other_queue = ARGV[5] -- 1 if it has interrupted deliveries without an answer yet
local after = tonumber(ARGV[6]) -- with so many crashes in a row a message is a suspect
local waited_for = tonumber(ARGV[7]) -- how long a suspect waits for an interrupted delivery, in seconds
local alone = tonumber(ARGV[8]) -- how long a suspect is the only one that the app has, in ms, and
local alone_once_found = tonumber(ARGV[9]) -- the same once the suspect that ends the process is found
local explains = tonumber(ARGV[10]) -- how long a suspect that was found explains crashes, in seconds
local ttl = ARGV[11] -- of the keys, in seconds
local unsuspected = ARGV[12] -- 1 in a queue without suspects

may('EXPIRE', 'HMGET', 'HSET', 'ZADD', 'ZRANGE', 'ZREM', 'ZREVRANGE', 'ZSCORE')

local f = redis.call('HMGET', task, 'owner', 'crashes', 'counted', 'longest')
if f[1] ~= owner then
  return {0, 0, 0}
end
local now = server_time()
if interrupted_before ~= interrupted_set then
  local crashed = redis.call('ZSCORE', interrupted_before, id)
  if crashed then
    redis.call('ZADD', interrupted_set, crashed, id)
    redis.call('EXPIRE', interrupted_set, ttl)
    redis.call('ZREM', interrupted_before, id)
  end
end
if unsuspected == '1' or tonumber(f[2] or '0') < after then
  return {1, 0, 0}
end

local counted, longest = tonumber(f[3] or '0'), tonumber(f[4] or '0')
local s = redis.call('HMGET', suspect, 'id', 'owner', 'since', 'longest', 'found', 'said')
local open, in_hand, suspects = count_interrupted(interrupted_set, prefix, after, id, now - waited_for)
local say = s[6] and 0 or suspects
redis.call('HSET', suspect, 'said', '1')
redis.call('EXPIRE', suspect, ttl)
redis.call('EXPIRE', interrupted_set, ttl)

local found = s[5] and now - tonumber(s[5]) < explains
local function alone_for(lasted)
  return found and math.min(math.max(alone_once_found, 2 * lasted), alone) or alone
end
if s[1] and s[1] ~= id then
  local other = redis.call('HMGET', prefix .. s[1], 'owner', 'alone')
  local held = other[1] and other[1] == s[2] and other[2] == s[2]
  if held and (now - tonumber(s[3])) * 1000 < alone_for(tonumber(s[4])) then
    return {2, say, 0}
  end
end
local first = redis.call('ZRANGE', set_aside, 0, 0, 'WITHSCORES')
if first[1] and first[1] ~= id and tonumber(first[2]) < tonumber(place) then
  return {3, say, 0}
end
-- A suspect that a crash has counted against also waits for suspects that the app still has.
if open > 0 or other_queue == '1' or counted > 0 and in_hand > 0 then
  return {4, say, 0}
end
redis.call('HSET', suspect, 'id', id, 'owner', owner, 'since', string.format('%.3f', now), 'longest', longest,
  'shared', counted == 0 and in_hand > 0 and '1' or '0')
redis.call('HSET', task, 'alone', owner)
redis.call('ZADD', interrupted_set, string.format('%.3f', now), id) -- others wait for it from now on
return {1, say, math.ceil(alone_for(longest))}
