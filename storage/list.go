package storage

import (
	"context"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/world-redis/world-redis"
)

// maxCandidates bounds how many entries one list call looks at. A page that hits it is cut
// short and says that there is more.
const maxCandidates = 10_000

// entries reads up to n entries of a zset that come after a place in the given order; a nil
// place means from the beginning.
func (s *Store) entries(ctx context.Context, key string, after *place, order world.Order, n int) ([]place, error) {
	return s.entriesBy(ctx, redis.ZRangeArgs{Key: key, Start: "-inf", Stop: "+inf"}, after, order, n)
}

// entriesBy is entries between the scores of by.
func (s *Store) entriesBy(ctx context.Context, by redis.ZRangeArgs, after *place, order world.Order, n int) ([]place, error) {
	by.ByScore, by.Count = true, int64(n+1)
	if order == world.Descending {
		by.Start, by.Stop, by.Rev = by.Stop, by.Start, true
	}
	if after != nil {
		by.Start = int64(after.ms)
	}
	var out []place
	// The entries of the very same millisecond are read again and skipped by id.
	for ; ; by.Offset += by.Count {
		rows, err := s.redis.ZRangeArgsWithScores(ctx, by).Result()
		if err != nil {
			return nil, fail(err)
		}
		for _, row := range rows {
			p := place{ms: world.Millis(row.Score), id: row.Member.(string)}
			if after != nil && !p.comesAfter(*after, order) {
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

func (p place) compare(other place) int {
	if p.ms != other.ms {
		if p.ms < other.ms {
			return -1
		}
		return 1
	}
	return strings.Compare(p.id, other.id)
}

func (p place) comesAfter(other place, order world.Order) bool {
	if order == world.Descending {
		return p.compare(other) < 0
	}
	return p.compare(other) > 0
}

// merged reads from several zsets as if they were one.
func (s *Store) merged(ctx context.Context, keys []string, after *place, order world.Order, n int) ([]place, error) {
	var all []place
	for _, key := range keys {
		rows, err := s.entries(ctx, key, after, order, n)
		if err != nil {
			return nil, err
		}
		all = append(all, rows...)
	}
	if len(keys) > 1 {
		slices.SortFunc(all, func(a, b place) int {
			if order == world.Descending {
				return b.compare(a)
			}
			return a.compare(b)
		})
		all = slices.Compact(all) // a run on the move is in two lists for a moment
	}
	return all[:min(n, len(all))], nil
}

// lister reads one page of a list whose index may be ahead of or behind the truth: load
// returns nil for an entry that is not (or no longer) to be shown.
type lister[T any] struct {
	scope   string
	order   world.Order // the list's default
	limit   int         // the list's default
	entries func(after *place, order world.Order, n int) ([]place, error)
	load    func(entries []place) ([]*T, error)
}

func (l lister[T]) page(p world.PageRequest) (world.Page[T], error) {
	out := world.Page[T]{Data: []T{}}
	order, limit := p.Order, limitOf(p.Limit, l.limit)
	if order == "" {
		order = l.order
	}
	var after *place
	if p.Cursor != "" {
		from, err := openPlace(l.scope, p.Cursor)
		if err != nil {
			return out, err
		}
		after = &from
	}
	for seen := 0; seen < maxCandidates; {
		n := limit + 1 - len(out.Data)
		if seen > 0 {
			n = max(n, 500) // few of them match: look at more at a time
		}
		entries, err := l.entries(after, order, n)
		if err != nil {
			return out, err
		}
		items, err := l.load(entries)
		if err != nil {
			return out, err
		}
		for i, item := range items {
			if item == nil {
				continue
			}
			if len(out.Data) == limit {
				out.HasMore = true
				return out, nil
			}
			out.Data = append(out.Data, *item)
			out.Cursor = entries[i].cursor(l.scope)
		}
		if len(entries) < n {
			return out, nil
		}
		seen += len(entries)
		after = &entries[len(entries)-1]
	}
	out.HasMore, out.Cursor = true, after.cursor(l.scope)
	return out, nil
}
