-- known_hook returns the answer about a hook that the log has already: its conflict, which is recorded once, or the refusal of a
-- second hook of this id. It returns nil if the log does not have the hook (contract §3.6).
local function known_hook(correlation)
  local position = related_position(log, correlation, false)
  if not position then
    return nil
  end
  local event_at = reader()
  if kind_of(event_at(log, position, false)) == KIND_HOOK_CONFLICT then
    return recorded(position)
  end
  return {HOOK_EXISTS}
end
