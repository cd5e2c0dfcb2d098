package redistest

import (
	"context"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
)

// multiply copies the keys of a run and its entries in lists, with some texts replaced. KEYS: the run's keys, and the
// lists; ARGV: how many of the keys are the run's, the number of texts, the texts, the run's entry in each list, and
// for each copy the score of its entries and its texts.
const multiply = `
local own, n = tonumber(ARGV[1]), tonumber(ARGV[2])
local from = {}
for i = 1, n do from[i] = ARGV[2 + i] end
local kinds, contents, entries = {}, {}, {}
for i = 1, #KEYS do
  kinds[i] = redis.call('TYPE', KEYS[i]).ok
  if i > own then
    entries[i] = ARGV[2 + n + i - own]
  elseif kinds[i] == 'hash' then
    contents[i] = redis.call('HGETALL', KEYS[i])
  elseif kinds[i] == 'zset' then
    contents[i] = redis.call('ZRANGE', KEYS[i], 0, -1, 'WITHSCORES')
  else
    contents[i] = redis.call('GET', KEYS[i])
  end
end
for at = 3 + n + #KEYS - own, #ARGV, n + 1 do
  local function copy(text)
    for i = 1, n do text = string.gsub(text, from[i], ARGV[at + i]) end
    return text
  end
  for i = 1, own do
    local key, all = copy(KEYS[i]), contents[i]
    if kinds[i] == 'string' then
      redis.call('SET', key, copy(all))
    else
      local out = {}
      for j = 1, #all, 2 do
        local a, b = copy(all[j]), copy(all[j + 1])
        if kinds[i] == 'zset' then a, b = b, a end
        out[j], out[j + 1] = a, b
      end
      redis.call(kinds[i] == 'hash' and 'HSET' or 'ZADD', key, unpack(out))
    end
  end
  for i, member in pairs(entries) do redis.call('ZADD', KEYS[i], ARGV[at], copy(member)) end
end
return 0`

// Copy is one copy that Multiply makes: the score of its entries in the lists, and the replacement of each text.
type Copy struct {
	Score int64
	Texts []string
}

// Entry is a run's member of a zset.
type Entry struct{ List, Member string }

// Multiply copies a run once for each of copies: every key with its id, those in own, and its entries in zsets. The
// first of the texts is the id of the run; texts contain only letters, digits and '_'. It works on a single server.
func Multiply(tb testing.TB, client redis.UniversalClient, prefix string, texts, own []string, entries []Entry, copies []Copy) {
	tb.Helper()
	ctx := context.Background()
	keys, err := client.Keys(ctx, prefix+"*{"+texts[0]+"}*").Result()
	if err != nil {
		tb.Fatalf("keys of the run: %v", err)
	}
	kept := own
	for _, key := range keys {
		if !strings.Contains(key, "request:") { // these expire
			kept = append(kept, key)
		}
	}
	script, ofRun := redis.NewScript(multiply), len(kept)
	for _, e := range entries {
		kept = append(kept, e.List)
	}
	const atOnce = 500
	for len(copies) > 0 {
		part := copies[:min(atOnce, len(copies))]
		copies = copies[len(part):]
		args := []any{ofRun, len(texts)}
		for _, text := range texts {
			args = append(args, text)
		}
		for _, e := range entries {
			args = append(args, e.Member)
		}
		for _, c := range part {
			args = append(args, c.Score)
			for _, text := range c.Texts {
				args = append(args, text)
			}
		}
		if err := script.Run(ctx, client, kept, args...).Err(); err != nil {
			tb.Fatalf("copies of a run: %v", err)
		}
	}
}
