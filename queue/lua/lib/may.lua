-- may stops the script, before it has written anything, where the Redis user may not use one of these commands: what a script
-- has written stays when Redis refuses its next command. Redis 6.2 and the embedded one cannot tell. It is for scripts that
-- are not made for each message; those order their writes so that the repeat of the call or the sweep mends them.
local function may(...)
  if redis.acl_check_cmd then
    for _, command in ipairs({...}) do
      if not redis.acl_check_cmd(command, KEYS[1], '', '') then
        error('NOPERM the Redis user may not use ' .. command)
      end
    end
  end
end
