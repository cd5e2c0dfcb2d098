local function server_time()
  local t = redis.call('TIME')
  return tonumber(t[1]) + tonumber(t[2]) / 1000000
end
local function interrupted(set, prefix, after, except, since)
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
local interrupted_set = KEYS[1]
local prefix = ARGV[1]
local waited_for = tonumber(ARGV[2])
local after = tonumber(ARGV[3])
return {(interrupted(interrupted_set, prefix, after, '', server_time() - waited_for))}
