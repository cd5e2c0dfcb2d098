package storage

import (
	"context"
	"slices"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/storage/internal/paging"
)

// maxCandidates bounds how many entries one list call reads. A page that reaches it is cut short and says that there is more.
const maxCandidates = 10_000

// head is an entry of a list that may be shown: its size, the values that are still to be read, and how the item is built when
// they are there. read returns nil for an entry that is not to be shown after all.
type head[T any] struct {
	measure
	read func() (*T, error)
}

// lister reads one page of a list. The index of the list may differ from what is true.
type lister[T any] struct {
	store   *Store
	scope   string
	order   world.Order // the list's default
	limit   int         // the list's default
	entries func(after *paging.Place, order world.Order, n int) ([]paging.Place, error)
	// match returns which entries may be shown, as far as small reads can tell; nil if any may.
	match func(entries []paging.Place) ([]int, error)
	// heads returns nil for an entry that is not, or no longer, to be shown.
	heads func(entries []paging.Place) ([]*head[T], error)
}

func (l lister[T]) page(ctx context.Context, p world.PageRequest) (world.Page[T], error) {
	out := world.Page[T]{Data: []T{}}
	order, limit := p.Order, limitOf(p.Limit, l.limit)
	if order == "" {
		order = l.order
	}
	var after *paging.Place
	if p.Cursor != "" {
		from, err := paging.OpenPlace(l.scope, p.Cursor)
		if err != nil {
			return out, err
		}
		after = &from
	}
	w := listWalk[T]{lister: l, page: &out, limit: limit}
	for seen := 0; seen < maxCandidates; {
		n := limit + 1 - len(out.Data)
		if seen > 0 {
			n = max(n, 500) // few of them match: read more at a time
		}
		entries, err := l.entries(after, order, n)
		if err != nil {
			return out, fail(err)
		}
		full, err := w.take(ctx, entries)
		if full || err != nil {
			return out, err
		}
		if len(entries) < n {
			return out, nil
		}
		seen += len(entries)
		after = &entries[len(entries)-1]
	}
	out.HasMore, out.Cursor = true, after.Cursor(l.scope)
	return out, nil
}

// listWalk fills a page.
type listWalk[T any] struct {
	lister[T]
	page  *world.Page[T]
	limit int
	bytes int // that the entries of the page take
}

// take adds the entries that are to be shown to the page. full says that one of them does not fit.
func (w *listWalk[T]) take(ctx context.Context, entries []paging.Place) (full bool, err error) {
	if w.match != nil {
		matching, err := w.match(entries)
		if err != nil {
			return false, fail(err)
		}
		chosen := make([]paging.Place, len(matching))
		for i, at := range matching {
			chosen[i] = entries[at]
		}
		entries = chosen
	}
	for part := range slices.Chunk(entries, headsAtOnce) {
		heads, err := w.heads(part)
		if err != nil {
			return false, err
		}
		for at := 0; at < len(heads); {
			var taken int
			if taken, full, err = w.takeHeads(ctx, part[at:], heads[at:]); full || err != nil {
				return full, err
			}
			at += taken
		}
	}
	return false, nil
}

// takeHeads takes as many as fit if all of them turn out to be shown.
func (w *listWalk[T]) takeHeads(ctx context.Context, entries []paging.Place, heads []*head[T]) (taken int, full bool, err error) {
	count, bytes := len(w.page.Data), w.bytes
	var gaps []gap
	for ; taken < len(heads); taken++ {
		h := heads[taken]
		if h == nil {
			continue
		}
		if count == w.limit || count > 0 && bytes+h.bytes > pageBytes {
			break
		}
		count, bytes, gaps = count+1, bytes+h.bytes, append(gaps, h.gaps...)
	}
	if count == len(w.page.Data) && taken < len(heads) {
		w.page.HasMore = true
		return 0, true, nil
	}
	if err := w.store.fill(ctx, gaps); err != nil {
		return 0, false, err
	}
	for i, h := range heads[:taken] {
		if h == nil {
			continue
		}
		item, err := h.read()
		if err != nil {
			return 0, false, err
		}
		if item != nil {
			w.page.Data, w.page.Cursor = append(w.page.Data, *item), entries[i].Cursor(w.scope)
			w.bytes += h.bytes
		}
	}
	return taken, false, nil
}
