-- forget: removes the messages of runs that have ended. Pending and delayed ones are removed with all
-- that belongs to them. Those that are being delivered stay, marked, and are not put back.
-- KEYS: pending scheduled retry waiting_for_app waiting parked delayed
--       then for each run: the set of its messages
-- ARGV: prefix most longest_searched from
-- REPLY: {runs that are finished, where to continue in the next one, how many messages of each
--         finished run are still being delivered ...}
-- $include lib/drop.lua
-- $include lib/may.lua
local pending = KEYS[1]
local scheduled = KEYS[2]
local retry = KEYS[3]
local waiting_for_app = KEYS[4] -- set: messages that wait for an app
local waiting = KEYS[5] -- hash: run and deployment -> wake-up that waits to be delivered now
local parked = KEYS[6] -- hash: run -> wake-up parked until another has ended
local delayed = KEYS[7] -- hash: run -> its delayed wake-up
local prefix = ARGV[1] -- of task keys
local most = tonumber(ARGV[2]) -- messages to look at, approximately, before the rest is left to another call
local longest_searched = tonumber(ARGV[3]) -- pending list; in a longer one an id without a message stays until it is claimed, which does nothing
local from = ARGV[4] -- where to continue in the set of the first run; 0: at its beginning

may('DEL', 'HDEL', 'HGET', 'HMGET', 'HSET', 'LLEN', 'LREM', 'SCARD', 'SREM', 'SSCAN', 'ZREM')

local search = redis.call('LLEN', pending) <= longest_searched

local function forget_field(hash, field, id)
  if field and redis.call('HGET', hash, field) == id then
    redis.call('HDEL', hash, field)
  end
end

-- forget is true when the message is gone.
local function forget(id, list)
  local task = prefix .. id
  local f = redis.call('HMGET', task, 'state', 'solo', 'wait', 'stalled', 'crowded')
  local state = f[1]
  if state == 'active' then
    redis.call('HSET', task, 'over', '1')
    return false
  end
  if not state or state == 'archived' or state == 'completed' then
    redis.call('SREM', list, id)
    return true
  end
  if state == 'scheduled' then
    redis.call('ZREM', scheduled, id)
    forget_field(parked, f[2], id)
  elseif state == 'retry' then
    redis.call('ZREM', retry, id)
    forget_field(delayed, f[2], id)
  elseif search then
    redis.call('LREM', pending, -1, id)
  end
  if f[4] then
    redis.call('SREM', waiting_for_app, id)
  end
  if f[5] then
    redis.call('ZREM', f[5], id)
  end
  forget_field(waiting, f[3], id)
  drop(task, id, waiting)
  return true
end

-- forget_all goes through the set of a run once, or through a part of it. An embedded Redis skips
-- members when others are removed between two pages, so a set of several pages is repeated until
-- nothing is removed any more.
local looked = 0
local function forget_all(list, cursor)
  local removed, several = false, cursor ~= '0'
  while true do
    local page = redis.call('SSCAN', list, cursor, 'COUNT', 50)
    cursor = page[1]
    for _, id in ipairs(page[2]) do
      removed = forget(id, list) or removed
    end
    looked = looked + #page[2] + 1
    several = several or cursor ~= '0'
    if cursor == '0' then
      if not (several and removed) then
        return cursor
      end
      removed = false
    elseif looked >= most then
      return cursor
    end
  end
end

local reply, cursor = {0, '0'}, from
for i = 8, #KEYS do
  cursor = forget_all(KEYS[i], cursor)
  if cursor ~= '0' then
    reply[2] = cursor
    break
  end
  reply[1] = reply[1] + 1
  reply[#reply + 1] = redis.call('SCARD', KEYS[i])
  if looked >= most then
    break
  end
end
return reply
