-- count_interrupted goes through the messages whose last delivery to an app ended with its process, the
-- newest first, and drops those that are gone or have been answered. It returns how many of them
-- are delivered as usual and have no answer yet, how many suspects the app has, and how
-- many suspects there are in all. The first two counts omit the message except, and messages that
-- others have waited for since before the time since: from their crash on, or from when it was their turn.
local function count_interrupted(set, prefix, after, except, since)
  local open, in_hand, suspects = 0, 0, 0
  local members = redis.call('ZREVRANGE', set, 0, 199, 'WITHSCORES')
  for i = 1, #members, 2 do
    local id = members[i]
    local f = redis.call('HMGET', prefix .. id, 'state', 'crashes', 'owner', 'alone')
    local crashes = tonumber(f[2] or '0')
    if not f[1] or f[1] == 'completed' or f[1] == 'archived' or crashes == 0 then
      redis.call('ZREM', set, id)
    else
      local counts = id ~= except and tonumber(members[i + 1]) >= since
      if crashes < after then
        open = open + (counts and 1 or 0)
      else
        suspects = suspects + 1
        in_hand = in_hand + (counts and f[3] and f[3] == f[4] and 1 or 0)
      end
    end
  end
  return open, in_hand, suspects
end
