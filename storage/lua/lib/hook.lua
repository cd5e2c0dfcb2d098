-- A hook of the hash of hooks is "<position of hook_created> <nonce> <token hash>[ <retained until>]".
-- It lives while its run does, and after that until retained_until, if it has one.
local function retained(hook, now)
  local until_ms = string.match(hook, '^%d+ %S+ %S+ (%d+)$')
  return until_ms and tonumber(until_ms) > tonumber(now)
end

-- hook_lives reports whether a hook (or false) lives, given the status of its run.
local function hook_lives(hook, run_status, now)
  if not hook then
    return false
  end
  local over = run_status == 'completed' or run_status == 'failed' or run_status == 'cancelled'
  return not over or retained(hook, now)
end
