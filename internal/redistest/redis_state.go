package redistest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// State is the content of Redis by key: the fields of hashes, the members of sorted sets with their scores, the
// elements of lists and sets, the entries of streams. "" is the value of a string, and "TTL" is present if the key
// expires.
type State map[string]map[string]string

type savedKey struct {
	name, dump string
	ttl        time.Duration
}

func (r *Refused) save() []savedKey {
	var saved []savedKey
	for _, row := range r.look(`return {k, redis.call('PTTL', k), redis.call('DUMP', k)}`) {
		ttl, _ := row[1].(int64)
		saved = append(saved, savedKey{row[0].(string), row[2].(string), time.Duration(max(0, ttl)) * time.Millisecond}) //nolint:forcetypeassert // as above
	}
	return saved
}

func (r *Refused) restore(saved []savedKey) {
	ctx := context.Background()
	_, err := r.admin.Pipelined(ctx, func(p redis.Pipeliner) error {
		p.FlushDB(ctx)
		for _, key := range saved {
			p.Restore(ctx, key.name, key.ttl, key.dump)
		}
		return nil
	})
	if err != nil {
		r.tb.Errorf("put the data back: %v", err)
	}
}

// look returns what a piece of Lua returns for each key k.
func (r *Refused) look(lua string) [][]any {
	all, err := r.admin.Eval(context.Background(),
		"local rows = {}\nlocal function of(k)\n"+lua+"\nend\nfor i, k in ipairs(redis.call('KEYS', '*')) do rows[i] = of(k) end\nreturn rows", nil).Slice()
	if err != nil {
		r.tb.Errorf("look at the data: %v", err)
	}
	rows := make([][]any, len(all))
	for i, row := range all {
		rows[i], _ = row.([]any)
	}
	return rows
}

const stateOfKey = `
local types = {
  string = function() return {'', redis.call('GET', k)} end,
  hash = function() return redis.call('HGETALL', k) end,
  zset = function() return redis.call('ZRANGE', k, 0, -1, 'WITHSCORES') end,
  list = function() return redis.call('LRANGE', k, 0, -1) end,
  set = function() return redis.call('SMEMBERS', k) end,
  stream = function()
    local out = {}
    for i, entry in ipairs(redis.call('XRANGE', k, '-', '+')) do
      out[2 * i - 1], out[2 * i] = entry[1], table.concat(entry[2], ' ')
    end
    return out
  end,
}
local kind = redis.call('TYPE', k).ok
return {k, kind, redis.call('PTTL', k), types[kind]()}`

func (r *Refused) state() State {
	s := State{}
	for _, row := range r.look(stateOfKey) {
		values, _ := row[3].([]any)
		fields := map[string]string{}
		switch row[1] {
		case "list":
			for i, element := range values {
				fields[fmt.Sprint(i)] = fmt.Sprint(element)
			}
		case "set":
			for _, member := range values {
				fields[fmt.Sprint(member)] = ""
			}
		default:
			for i := 0; i+1 < len(values); i += 2 {
				fields[fmt.Sprint(values[i])] = fmt.Sprint(values[i+1])
			}
		}
		if ttl, _ := row[2].(int64); ttl > 0 {
			fields["TTL"] = ""
		}
		s[fmt.Sprint(row[0])] = fields
	}
	return s
}

// Clear removes all data, for parts of a test that are independent of each other.
func (r *Refused) Clear() { r.restore(nil) }

// differ describes how two states differ for readers; "" if they do not.
func (r *Refused) differ(got, want State) string {
	got, want = clone(got), clone(want)
	if r.Visible != nil {
		r.Visible(got)
		r.Visible(want)
	}
	var found []string
	for _, key := range slices.Sorted(maps.Keys(union(got, want))) {
		for _, field := range slices.Sorted(maps.Keys(union(got[key], want[key]))) {
			is, there := got[key][field]
			should, expected := want[key][field]
			if there != expected || is != should && !near(is, should) {
				found = append(found, fmt.Sprintf("\n  %s %q: %q (%v), not %q (%v)", key, field, is, there, should, expected))
			}
		}
	}
	return strings.Join(found, "")
}

func clone(s State) State {
	out := State{}
	for key, fields := range s {
		out[key] = maps.Clone(fields)
	}
	return out
}

func union[V any](a, b map[string]V) map[string]V {
	out := maps.Clone(a)
	if out == nil {
		out = map[string]V{}
	}
	maps.Copy(out, b)
	return out
}

// near reports whether two values are times of Redis's clock, in seconds, that are close to each other.
func near(a, b string) bool {
	var x, y float64
	if _, err := fmt.Sscanf(a, "%f", &x); err != nil {
		return false
	}
	if _, err := fmt.Sscanf(b, "%f", &y); err != nil {
		return false
	}
	const least, most, apart = 1.5e9, 5e9, 120
	return x > least && x < most && y > least && y < most && max(x-y, y-x) < apart
}
