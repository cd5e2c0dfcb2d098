-- interrupted: counts the messages whose last delivery to an app ended with its process and that have no answer yet,
-- except for those with so many crashes that they have no attempt left.
-- KEYS: interrupted_set
-- ARGV: prefix waited_for after
-- REPLY: {how many}
-- $include lib/server_time.lua
-- $include lib/count_interrupted.lua
local interrupted_set = KEYS[1] -- zset: messages whose last delivery to the app ended with its process
local prefix = ARGV[1] -- of task keys
local waited_for = tonumber(ARGV[2]) -- how long such a message counts, in seconds
local after = tonumber(ARGV[3]) -- with so many crashes in a row a message does not count

return {(count_interrupted(interrupted_set, prefix, after, '', server_time() - waited_for))}
