package archived

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/cursor"
	"github.com/world-redis/world-redis/internal/ids"
)

const (
	runsScope    = "runs" // of the cursors, as in storage
	defaultLimit = 20
)

// ListRuns implements world.RunStore. Both lists have the same order, so their pages are merged, and the cursor is a place in both.
//
// Redis is read before the archive. A run that moves between the two reads is in both pages, and is shown once. A run that moves
// between two pages keeps its place, so it is either behind the cursor or still to come.
func (s *Store) ListRuns(ctx context.Context, q world.RunQuery) (world.Page[world.Run], error) {
	page, err := s.Store.ListRuns(ctx, q)
	if err != nil || q.NoMatch {
		return page, err
	}
	want, err := archivedRuns(q)
	if err != nil || want == nil {
		return page, err
	}
	older, more, err := s.Archive.ListRuns(ctx, *want)
	switch {
	case errors.Is(err, world.ErrArchiveCannotList):
		s.Logger.DebugContext(ctx, "a list of runs does not go on in the archive", slog.Any("error", err))
		return page, nil
	case err != nil:
		return world.Page[world.Run]{}, unavailable(ctx, err)
	}
	older, more = within(older, more, q)
	for i := range older {
		if err := makeRoom(ctx, &older[i]); err != nil {
			return world.Page[world.Run]{}, err
		}
	}
	return merge(page, older, more, want.Order, want.Limit)
}

// archivedRuns is the query for the archive; nil if no ended run matches.
func archivedRuns(q world.RunQuery) (*world.ArchivedRuns, error) {
	want := world.ArchivedRuns{WorkflowName: q.WorkflowName, Order: q.Page.Order, Limit: min(q.Page.Limit, world.MaxPage), ResolveNone: q.ResolveNone}
	if want.Order == "" {
		want.Order = world.Descending
	}
	if want.Limit <= 0 {
		want.Limit = defaultLimit
	}
	for _, status := range q.Statuses {
		if status.Terminal() {
			want.Statuses = append(want.Statuses, status)
		}
	}
	if len(q.Statuses) > 0 && len(want.Statuses) == 0 {
		return nil, nil //nolint:nilnil // as documented
	}
	if q.Page.Cursor != "" {
		after, err := cursor.OpenPlace(runsScope, q.Page.Cursor)
		if err != nil {
			return nil, err
		}
		want.After = &world.ArchivePlace{MS: after.MS, RunID: after.ID}
	}
	// A place without an id is before all runs of its time.
	if from := want.After; want.Order == world.Descending && q.CreatedBefore != 0 && (from == nil || from.MS >= q.CreatedBefore) {
		want.After = &world.ArchivePlace{MS: q.CreatedBefore}
	} else if want.Order == world.Ascending && q.CreatedFrom != 0 && (from == nil || from.MS < q.CreatedFrom) {
		want.After = &world.ArchivePlace{MS: q.CreatedFrom}
	}
	return &want, nil
}

// within cuts off runs beyond the far bound of a query's times. They are in the order of the list, so none follows them.
func within(runs []world.Run, more bool, q world.RunQuery) ([]world.Run, bool) {
	for i := range runs {
		at := placeOf(&runs[i]).MS
		if at < q.CreatedFrom || q.CreatedBefore != 0 && at >= q.CreatedBefore {
			return runs[:i], false
		}
	}
	return runs, more
}

// placeOf is the place of a run in the list: the time in its id, or that of its creation for an id without one.
func placeOf(r *world.Run) cursor.Place {
	ms, ok := ids.Time("", strings.TrimPrefix(r.RunID, "wrun_"))
	if !ok {
		ms = r.CreatedAt
	}
	return cursor.Place{MS: ms, ID: r.RunID}
}

// merge makes one page of that of Redis and that of the archive.
func merge(page world.Page[world.Run], older []world.Run, more bool, order world.Order, limit int) (world.Page[world.Run], error) {
	// Behind the end of a page that is not the last, the other list may have what belongs in between.
	var ends []cursor.Place
	if page.HasMore {
		end, err := cursor.OpenPlace(runsScope, page.Cursor)
		if err != nil {
			return page, err
		}
		ends = append(ends, end)
	}
	if more && len(older) > 0 {
		ends = append(ends, placeOf(&older[len(older)-1]))
	}
	all := slices.Concat(page.Data, older) // Redis first: a run that is in both is as Redis has it
	slices.SortStableFunc(all, func(a, b world.Run) int {
		if order == world.Descending {
			a, b = b, a
		}
		return placeOf(&a).Compare(placeOf(&b))
	})
	all = slices.CompactFunc(all, sameRun)
	out := world.Page[world.Run]{Data: []world.Run{}}
	bytes := 0
	for i := range all {
		place := placeOf(&all[i])
		bytes += runBytes(&all[i])
		cut := slices.ContainsFunc(ends, func(end cursor.Place) bool { return place.ComesAfter(end, order) })
		if cut || len(out.Data) == limit || len(out.Data) > 0 && bytes > pageBytes {
			out.HasMore = true
			return out, nil
		}
		out.Data, out.Cursor = append(out.Data, all[i]), place.Cursor(runsScope)
	}
	out.HasMore = len(ends) > 0
	if len(out.Data) == 0 && page.HasMore { // Redis looked at many entries and found none that match
		out.Cursor = page.Cursor
	}
	return out, nil
}

func sameRun(a, b world.Run) bool { return a.RunID == b.RunID }
