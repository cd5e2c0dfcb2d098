package object

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/ids"
)

// placed is a run that is listed, and its object.
type placed struct {
	world.ArchivePlace
	object string
}

func comparePlaces(a, b world.ArchivePlace) int {
	return cmp.Or(cmp.Compare(a.MS, b.MS), strings.Compare(a.RunID, b.RunID))
}

// ListRuns implements world.Archive. A page reads the names of the hours in which its runs are, and its runs.
func (a *Archive) ListRuns(ctx context.Context, q world.ArchivedRuns) (runs []world.Run, more bool, err error) {
	if q.WorkflowName != "" || len(q.Statuses) > 0 {
		return nil, false, world.ErrArchiveCannotList
	}
	own, err := a.ownRuns(ctx, q)
	if err != nil {
		return nil, false, err
	}
	l := listing{archive: a, q: q, own: own}
	if err := l.walk(ctx, timed, 4); err != nil && !errors.Is(err, errStopped) {
		return nil, false, err
	}
	if err := l.take(own[min(len(own), l.ownTaken):]); err != nil && !errors.Is(err, errStopped) {
		return nil, false, err
	}
	found := l.found
	if more = len(found) > q.Limit; more {
		found = found[:q.Limit]
	}
	read := make([]*world.Run, len(found))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(readsAtOnce)
	for i, p := range found {
		g.Go(func() error {
			r, err := a.readObject(ctx, p.object)
			if errors.Is(err, errNoObject) {
				return nil // it was removed meanwhile
			}
			if err != nil {
				return err
			}
			read[i] = shown(r.run, q.ResolveNone)
			return r.Close()
		})
	}
	if err := g.Wait(); err != nil {
		return nil, false, err
	}
	for _, run := range read {
		if run != nil {
			runs = append(runs, *run)
		}
	}
	return runs, more, nil
}

// in reports whether a place comes after that of the query, in its order.
func in(q world.ArchivedRuns, p world.ArchivePlace) bool {
	if q.After == nil {
		return true
	}
	if q.Order == world.Descending {
		return comparePlaces(p, *q.After) < 0
	}
	return comparePlaces(p, *q.After) > 0
}

func order(q world.ArchivedRuns, places []placed) []placed {
	slices.SortFunc(places, func(a, b placed) int {
		if q.Order == world.Descending {
			return comparePlaces(b.ArchivePlace, a.ArchivePlace)
		}
		return comparePlaces(a.ArchivePlace, b.ArchivePlace)
	})
	return places
}

// ownRuns returns the places of the runs whose ids have no time, in order. The SDK makes no such ids, so there are few.
func (a *Archive) ownRuns(ctx context.Context, q world.ArchivedRuns) ([]placed, error) {
	folders, _, err := a.bucket.list(ctx, a.name(untimed))
	if err != nil {
		return nil, err
	}
	var out []placed
	for _, folder := range folders {
		_, objects, err := a.bucket.list(ctx, a.name(untimed+"/"+folder))
		if err != nil {
			return nil, err
		}
		for _, object := range objects {
			if place, ok := ownPlace(folder, object); ok && in(q, place) {
				out = append(out, placed{place, a.name(untimed + "/" + folder + "/" + object)})
			}
		}
	}
	return order(q, out), nil
}

// listing collects the places of a page, and one more.
type listing struct {
	archive  *Archive
	q        world.ArchivedRuns
	own      []placed
	ownTaken int
	found    []placed
}

// walk goes through the folders of years, months, days and hours in order.
func (l *listing) walk(ctx context.Context, folder string, depth int) error {
	folders, objects, err := l.archive.bucket.list(ctx, l.archive.name(folder))
	if err != nil {
		return err
	}
	if depth == 0 {
		return l.hour(folder, objects)
	}
	if l.q.Order == world.Descending {
		slices.Reverse(folders)
	}
	for _, name := range folders {
		below := folder + "/" + name
		if !l.mayHave(below) {
			continue
		}
		if err := l.walk(ctx, below, depth-1); err != nil {
			return err
		}
	}
	return nil
}

// mayHave reports whether a folder may have runs after the place of the query.
func (l *listing) mayHave(folder string) bool {
	if l.q.After == nil {
		return true
	}
	hour := hourOf(l.q.After.MS)
	at := hour[:min(len(hour), len(folder))]
	if l.q.Order == world.Descending {
		return folder <= at
	}
	return folder >= at
}

// hour takes the runs of an hour, and before them runs without a time in their ids that were created earlier.
func (l *listing) hour(folder string, objects []string) error {
	var here []placed
	for _, object := range objects {
		runID := strings.TrimSuffix(object, suffix)
		ms, ok := ids.Time("wrun_", runID)
		place := world.ArchivePlace{MS: ms, RunID: runID}
		if ok && in(l.q, place) {
			here = append(here, placed{place, l.archive.name(folder + "/" + object)})
		}
	}
	if len(here) == 0 {
		return nil
	}
	here = order(l.q, here)
	last := here[len(here)-1]
	n := l.ownTaken
	for n < len(l.own) && order(l.q, []placed{l.own[n], last})[0] == l.own[n] {
		n++
	}
	here = order(l.q, append(here, l.own[l.ownTaken:n]...))
	l.ownTaken = n
	return l.take(here)
}

// take adds places up to one more than the page has.
func (l *listing) take(places []placed) error {
	room := l.q.Limit + 1 - len(l.found)
	l.found = append(l.found, places[:min(room, len(places))]...)
	if len(l.found) > l.q.Limit {
		return errStopped
	}
	return nil
}
