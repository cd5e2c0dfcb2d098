-- step_mend: makes a step what its events say, when it is something else. Scripts cannot leave it so;
-- a person or a restore of half the keys can, and then every event of the step would be refused for ever.
-- KEYS: run events related step steps
-- ARGV: correlation
-- CODES: DONE UNCHANGED
-- REPLY: DONE | UNCHANGED
-- $include lib/codes.lua
-- $include lib/log.lua
-- $include lib/step_mend.lua
local log = {run = KEYS[1], events = KEYS[2], related = KEYS[3]}
if step_mend(log, KEYS[4], KEYS[5], ARGV[1]) then
  return {DONE}
end
return {UNCHANGED}
