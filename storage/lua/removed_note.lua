-- removed_note: notes runs that are removed, by fingerprints of their ids, for the time after their marks are gone. A run that is
-- noted already is not noted twice. A field with many fingerprints is divided into sixteen, by their next hexadecimal digit; it
-- is empty then (storage/removed_runs.go).
-- KEYS: bucket
-- ARGV: expires_in
--       then fingerprints, of 10 bytes each
-- CODES: DONE UNCHANGED
-- REPLY: DONE how many are new | UNCHANGED
-- $include lib/codes.lua
local bucket = KEYS[1]
local expires_in = ARGV[1] -- seconds

local SIZE = 10    -- bytes of a fingerprint
local SHORTEST = 2 -- hexadecimal digits of a field
local LONGEST = 6
local FULL = 4000  -- bytes in a field that is divided

local function fields_of(print)
  local digits = string.format('%02x%02x%02x', string.byte(print, 1, 3))
  local fields = {}
  for n = SHORTEST, LONGEST do
    fields[#fields + 1] = string.sub(digits, 1, n)
  end
  return fields
end

local function holds(held, print)
  local at = string.find(held, print, 1, true)
  while at and at % SIZE ~= 1 do
    at = string.find(held, print, at + 1, true)
  end
  return at
end

-- divide returns a field, now empty, and those below it with its fingerprints.
local function divide(field, held)
  local below = {}
  for at = 1, #held, SIZE do
    local print = string.sub(held, at, at + SIZE - 1)
    local child = fields_of(print)[#field]
    below[child] = (below[child] or '') .. print
  end
  local values = {field, ''}
  for child, prints in pairs(below) do
    values[#values + 1] = child
    values[#values + 1] = prints
  end
  return values
end

redis.call('EXPIRE', bucket, expires_in) -- a refusal must come before anything is written
local new = 0
for i = 2, #ARGV do
  local print = ARGV[i]
  local fields = fields_of(print)
  local values = redis.call('HMGET', bucket, unpack(fields))
  local at = 1
  while values[at] == '' do
    at = at + 1
  end
  local held = values[at] or ''
  if not holds(held, print) then
    held = held .. print
    if #held > FULL and #fields[at] < LONGEST then
      redis.call('HSET', bucket, unpack(divide(fields[at], held)))
    else
      redis.call('HSET', bucket, fields[at], held)
    end
    new = new + 1
  end
end
if new == 0 then
  return {UNCHANGED}
end
redis.call('EXPIRE', bucket, expires_in)
return {DONE, new}
