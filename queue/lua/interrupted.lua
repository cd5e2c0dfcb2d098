-- Counts the messages whose last delivery to an app ended with its process and that have no answer yet,
-- but for those that it ended with so often that nothing is left to be spared.
--
-- KEYS[1] zset: messages whose last delivery to the app ended with its process
-- ARGV[1] task key prefix
-- ARGV[2] how long one is waited for, in seconds
-- ARGV[3] from how many crashes in a row on a message does not count
-- Reply: {how many}
-- $include lib/server_time.lua
-- $include lib/interrupted.lua

return {(interrupted(KEYS[1], ARGV[1], tonumber(ARGV[3]), '', server_time() - tonumber(ARGV[2])))}
