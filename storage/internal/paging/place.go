package paging

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/world-redis/world-redis"
)

// ParsePlace reads what place.text writes; nil for anything else.
func ParsePlace(text string) *Place {
	ms, id, ok := strings.Cut(text, " ")
	number, err := strconv.ParseInt(ms, 10, 64)
	if !ok || err != nil {
		return nil
	}
	return &Place{MS: world.Millis(number), ID: id}
}

// Entries reads up to n entries of a zset that come after a place in the given order; a nil
// place means from the beginning.
func Entries(ctx context.Context, client redis.Cmdable, key string, after *Place, order world.Order, n int) ([]Place, error) {
	return EntriesBy(ctx, client, redis.ZRangeArgs{Key: key, Start: "-inf", Stop: "+inf"}, after, order, n)
}

// EntriesBy is entries between the scores of by.
func EntriesBy(ctx context.Context, client redis.Cmdable, by redis.ZRangeArgs, after *Place, order world.Order, n int) ([]Place, error) {
	by.ByScore, by.Count = true, int64(n+1)
	if order == world.Descending {
		by.Start, by.Stop, by.Rev = by.Stop, by.Start, true
	}
	if after != nil {
		by.Start = int64(after.MS)
	}
	var out []Place
	// The entries of the very same millisecond are read again and skipped by id.
	for ; ; by.Offset += by.Count {
		rows, err := client.ZRangeArgsWithScores(ctx, by).Result()
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			p := Place{MS: world.Millis(row.Score), ID: row.Member.(string)}
			if after != nil && !p.ComesAfter(*after, order) {
				continue
			}
			if out = append(out, p); len(out) == n {
				return out, nil
			}
		}
		if int64(len(rows)) < by.Count {
			return out, nil
		}
	}
}

// Within bounds the times of entries: from ≤ time < before. Zero is no bound.
type Within struct{ From, Before world.Millis }

// scores returns the bounds as the scores of a range.
func (w Within) scores() (start, stop any) {
	start, stop = "-inf", "+inf"
	if w.From != 0 {
		start = int64(w.From)
	}
	if w.Before != 0 {
		stop = "(" + strconv.FormatInt(int64(w.Before), 10)
	}
	return start, stop
}

// ahead reports whether every entry within the bounds comes after a place, so that it says nothing.
func (w Within) ahead(p Place, order world.Order) bool {
	if order == world.Descending {
		return w.Before != 0 && p.MS >= w.Before
	}
	return w.From != 0 && p.MS < w.From
}

// Merged reads from several zsets as if they were one.
func Merged(ctx context.Context, client redis.Cmdable, keys []string, within Within, after *Place, order world.Order, n int) ([]Place, error) {
	var all []Place
	start, stop := within.scores()
	if after != nil && within.ahead(*after, order) {
		after = nil
	}
	for _, key := range keys {
		rows, err := EntriesBy(ctx, client, redis.ZRangeArgs{Key: key, Start: start, Stop: stop}, after, order, n)
		if err != nil {
			return nil, err
		}
		all = append(all, rows...)
	}
	if len(keys) > 1 {
		slices.SortFunc(all, func(a, b Place) int {
			if order == world.Descending {
				return b.Compare(a)
			}
			return a.Compare(b)
		})
		all = slices.Compact(all) // an id that changes lists is in both for a while
	}
	return all[:min(n, len(all))], nil
}
