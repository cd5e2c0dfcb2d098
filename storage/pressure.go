package storage

import (
	"context"
	"log/slog"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/storage/internal/paging"
)

// While Redis is too full (Config.Pressure), runs that have ended are removed before their time, those that are due next first. It is
// the removal of due runs (due.go) with another choice: a run needs a retention, must have ended a while ago, and is archived first
// where runs are archived.

const (
	// pressureEvery is the time between two looks at the memory.
	pressureEvery = 4 * time.Second
	// earlyLooked is how many entries of the list of due runs one pass looks at.
	earlyLooked = 10_000
)

// pressure is what a store knows about a Redis that is too full. One goroutine uses it.
type pressure struct {
	over    func(ctx context.Context) (string, error) // Config.Pressure
	after   time.Duration                             // Config.PressureAfter
	next    time.Time                                 // of the next look
	since   time.Time                                 // when it began; zero: Redis is not too full
	removed int                                       // since then
	stuck   bool                                      // it was said that no run may be removed
}

// relieve removes runs early while Redis is too full, and reports whether it goes on.
func (s *Store) relieve(ctx context.Context) (more bool, err error) {
	p := &s.dueRuns.pressure
	if p.over == nil || time.Now().Before(p.next) {
		return false, nil
	}
	p.next = time.Now().Add(pressureEvery)
	over, err := p.over(ctx)
	if err != nil || s.endOfPressure(ctx, over) {
		return false, err
	}
	if ok, err := s.dueRuns.mayRemove(ctx); err != nil || !ok {
		return false, err
	}
	s.sayPressure(ctx, over)
	before := p.removed
	if over, err = s.removeEarly(ctx); err != nil || s.endOfPressure(ctx, over) {
		return false, err
	}
	if more = p.removed > before; more {
		p.next, p.stuck = time.Time{}, false
		return true, nil
	}
	if !p.stuck {
		p.stuck = true
		s.log.WarnContext(ctx, "Redis is too full, and no finished run may be removed early: give it more memory, or shorten WORKFLOW_WORLD_RETENTION", slog.String("memory", over))
	}
	return false, nil
}

func (s *Store) sayPressure(ctx context.Context, over string) {
	p := &s.dueRuns.pressure
	if !p.since.IsZero() {
		return
	}
	p.since, p.removed, p.stuck = time.Now(), 0, false
	s.log.WarnContext(ctx, "Redis is fuller than WORKFLOW_WORLD_PRESSURE: finished runs are removed before their time, those that are due next first", slog.String("memory", over))
}

// endOfPressure reports whether Redis is not too full.
func (s *Store) endOfPressure(ctx context.Context, over string) bool {
	p := &s.dueRuns.pressure
	if over != "" {
		return false
	}
	if !p.since.IsZero() {
		s.log.InfoContext(ctx, "Redis is not too full any more", slog.Int("removed_early", p.removed), slog.Duration("took", time.Since(p.since)))
		p.since = time.Time{}
	}
	return true
}

// removeEarly removes runs batch by batch, until Redis is not too full or so many entries were looked at. It returns what is said of
// the memory then.
func (s *Store) removeEarly(ctx context.Context) (over string, err error) {
	var after *paging.Place
	for range earlyLooked / dueAtOnce {
		began := time.Now()
		entries, err := paging.EntriesBy(ctx, s.redis, redis.ZRangeArgs{Key: s.index.Keys.Due(), Start: "-inf", Stop: "+inf"}, after, world.Ascending, dueAtOnce)
		if err != nil {
			return "", fail(err)
		}
		removed, err := s.removeEarlyBatch(ctx, entries)
		if err != nil {
			return "", err
		}
		s.dueRuns.pressure.removed += removed
		if over, err = s.dueRuns.pressure.over(ctx); err != nil || over == "" || len(entries) < dueAtOnce {
			return over, err
		}
		after = &entries[len(entries)-1]
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-time.After(min(portionPause, time.Since(began))):
		}
	}
	return over, nil
}

func (s *Store) removeEarlyBatch(ctx context.Context, entries []paging.Place) (removed int, err error) {
	due := make([]*dueRun, len(entries))
	for i, e := range entries {
		due[i] = &dueRun{id: e.ID, seen: float64(e.MS)}
	}
	if err := s.readDue(ctx, due); err != nil {
		return 0, err
	}
	ready, err := s.archiveDue(ctx, s.chooseEarly(due, s.now()))
	if err != nil {
		return 0, err
	}
	for _, d := range due {
		if d.run != nil {
			d.next = d.at // as before, whatever the archive has said
		}
	}
	for _, d := range ready {
		d.early, d.next = d.at > s.now(), 0
	}
	if err := s.removeReady(ctx, ready); err != nil {
		return 0, err
	}
	for _, d := range ready {
		if d.next == 0 {
			removed++
		}
	}
	return removed, s.lookAgain(ctx, due)
}

// chooseEarly returns the runs that may be removed before their time.
func (s *Store) chooseEarly(due []*dueRun, now world.Millis) []*dueRun {
	chosen := make([]*dueRun, 0, len(due))
	for _, d := range due {
		if d.run == nil {
			continue
		}
		d.at, d.own = s.dueRuns.due(endingOf(*d.run))
		if d.at != 0 && d.run.CompletedAt+world.Millis(s.dueRuns.pressure.after/time.Millisecond) <= now {
			chosen = append(chosen, d)
		}
	}
	return chosen
}
