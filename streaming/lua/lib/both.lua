-- both returns the steps that are in two lists, "<attempt> <step> <attempt> <step> …", of a call and of a stream's
-- record: {step, attempt of the call, attempt of the record}, …
local function both(call, record)
  local attempts, found = {}, {}
  for attempt, step in string.gmatch(record or '', '(%d+) (%S+)') do attempts[step] = tonumber(attempt) end
  for attempt, step in string.gmatch(call, '(%d+) (%S+)') do
    if attempts[step] then found[#found + 1] = {step, tonumber(attempt), attempts[step]} end
  end
  return found
end
