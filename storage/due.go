package storage

import (
	"context"
	"log/slog"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/storage/internal/record"
)

// The list of due runs (runindex.Keys.Due) has every run that is to be removed some day, by its time. An entry is a hint: the
// sweeper reads the run when its time has come, and decides by what the run and the rules say then. So it removes nothing early if a
// rule has become longer, and corrects the entry.

const (
	// dueAtOnce is how many due runs are looked at in one go, and dueBatches how many times in a pass.
	dueAtOnce  = 100
	dueBatches = 100
	// duePause is the longest pause after that. A pause is as long as the work took, so that other calls get at least half of the
	// time of Redis; where the work is mostly the way to Redis, it is shorter than that.
	duePause = 50 * time.Millisecond
	// dueEvery is how often the sweeper looks at the head of the list, so that a run that has just become due is removed soon.
	dueEvery = 5 * time.Second
	// dueAgain is when a run is looked at again whose removal was not possible.
	dueAgain = world.Millis(60_000)
)

// dueRun is an entry of the list of due runs that is being looked at.
type dueRun struct {
	id    string
	seen  float64 // the time in the list
	run   *world.Run
	at    world.Millis // when the run is due
	own   bool         // it says so itself
	early bool         // it is removed before its time
	// next is when it is looked at next; 0: it leaves the list.
	next world.Millis
}

// removeDue archives and removes the runs that are due, and reports whether there may be more.
func (s *Store) removeDue(ctx context.Context) (more bool, err error) {
	for range dueBatches {
		if s.dueRuns.failing.waits() > 0 {
			return false, nil
		}
		began := time.Now()
		more, err = s.removeDueBatch(ctx)
		switch {
		case err != nil && ctx.Err() == nil:
			s.dueRuns.failing.fail()
			return false, err
		case err != nil || !more:
			return false, err
		}
		s.dueRuns.failing.done()
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-time.After(min(duePause, time.Since(began))):
		}
	}
	return more, nil
}

func (s *Store) removeDueBatch(ctx context.Context) (more bool, err error) {
	now := s.now()
	rows, err := s.redis.ZRangeArgsWithScores(ctx, redis.ZRangeArgs{
		Key: s.index.Keys.Due(), Start: "-inf", Stop: int64(now), ByScore: true, Count: dueAtOnce,
	}).Result()
	if err != nil || len(rows) == 0 {
		if err == nil && s.dueRuns.archiving.waits() == 0 {
			s.dueRuns.oldest.Store(0)
		}
		return false, fail(err)
	}
	if ok, err := s.dueRuns.mayRemove(ctx); err != nil || !ok {
		return false, err
	}
	due := make([]*dueRun, len(rows))
	for i, row := range rows {
		due[i] = &dueRun{id: row.Member.(string), seen: row.Score}
	}
	if err := s.readDue(ctx, due); err != nil {
		return false, err
	}
	ready, err := s.archiveDue(ctx, s.choose(due, now))
	if err != nil {
		return false, err
	}
	if err := s.removeReady(ctx, ready); err != nil {
		return false, err
	}
	return len(rows) == dueAtOnce, s.lookAgain(ctx, due)
}

// readDue reads the runs without their payloads. A run that cannot be read does not keep the others from being removed.
func (s *Store) readDue(ctx context.Context, due []*dueRun) error {
	err := s.readDueRuns(ctx, due)
	if err == nil || passing(ctx, err) {
		return err
	}
	for _, d := range due {
		if err := s.readDueRuns(ctx, []*dueRun{d}); err != nil {
			if passing(ctx, err) {
				return err
			}
			s.postpone(ctx, d, err)
		}
	}
	return nil
}

// passing reports whether an error says nothing about a single run: Redis does not answer, or the caller is to stop.
func passing(ctx context.Context, err error) bool {
	return ctx.Err() != nil || world.ErrorCode(err) == world.CodeUnavailable
}

// postpone has a run looked at later whose removal failed.
func (s *Store) postpone(ctx context.Context, d *dueRun, err error) {
	d.run, d.next = nil, s.now()+dueAgain
	s.log.WarnContext(ctx, "a run that is due could not be removed; it is tried again in a minute", slog.String("run_id", d.id), slog.Any("error", err))
}

func (s *Store) readDueRuns(ctx context.Context, due []*dueRun) error {
	ids := make([]string, len(due))
	for i, d := range due {
		ids[i] = d.id
	}
	heads, err := s.runHeads(ctx, ids, true, nil)
	if err != nil {
		return err
	}
	var gaps []gap
	for _, h := range heads {
		if h == nil {
			continue
		}
		for _, g := range h.gaps {
			if g.bare {
				gaps = append(gaps, g) // of a record, for the name of the workflow
			} else {
				*g.into = nil
			}
		}
	}
	if err := s.fill(ctx, gaps); err != nil {
		return err
	}
	for i, h := range heads {
		due[i].run = nil
		if h != nil {
			if due[i].run, err = h.read(); err != nil {
				return err
			}
		}
	}
	return nil
}

// choose returns the runs whose time has come. For the others it sets when they are looked at next.
func (s *Store) choose(due []*dueRun, now world.Millis) []*dueRun {
	ready := make([]*dueRun, 0, len(due))
	for _, d := range due {
		if d.run == nil {
			continue // removed, or it could not be read
		}
		d.at, d.own = s.dueRuns.due(endingOf(*d.run))
		if d.at == 0 || d.at > now {
			d.next = d.at
			continue
		}
		ready = append(ready, d)
	}
	return ready
}

// archiveDue has runs archived, and returns those that may be removed now.
func (s *Store) archiveDue(ctx context.Context, due []*dueRun) (ready []*dueRun, err error) {
	var keep []*dueRun
	for _, d := range due {
		if s.dueRuns.archivesRun(d.own) {
			keep = append(keep, d)
		} else {
			ready = append(ready, d)
		}
	}
	if len(keep) == 0 {
		return ready, nil
	}
	safe, again := map[string]bool{}, dueAgain
	if wait := s.dueRuns.archiving.waits(); wait > 0 {
		again = world.Millis(wait / time.Millisecond)
	} else {
		safe, err = s.archiveRuns(ctx, keep)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			again = world.Millis(s.dueRuns.archiving.waits() / time.Millisecond)
		}
	}
	oldest := int64(0)
	for _, d := range keep {
		if safe[d.id] {
			ready = append(ready, d)
			continue
		}
		d.next = s.now() + again
		if oldest == 0 || int64(d.at) < oldest {
			oldest = int64(d.at)
		}
	}
	if before := s.dueRuns.oldest.Load(); oldest != 0 && (before == 0 || oldest < before) {
		s.dueRuns.oldest.Store(oldest)
	}
	return ready, nil
}

// archiveRuns calls the archive. An archive that fails is said once, and again when it works.
func (s *Store) archiveRuns(ctx context.Context, due []*dueRun) (safe map[string]bool, err error) {
	ids := make([]string, len(due))
	for i, d := range due {
		ids[i] = d.id
	}
	done, err := s.dueRuns.archive(ctx, ids)
	safe = make(map[string]bool, len(done))
	for _, runID := range done {
		safe[runID] = true
	}
	switch {
	case err == nil:
		if failed := s.dueRuns.archiving.done(); failed > 0 {
			s.log.InfoContext(ctx, "the archive takes runs again", slog.Int("failed", failed))
		}
	case ctx.Err() == nil && s.dueRuns.archiving.fail():
		s.log.WarnContext(ctx, "the archive does not take runs; they stay in Redis, and it is tried again", slog.Any("error", err))
	}
	return safe, err
}

// removeReady removes runs. If that fails because of one of them, each is removed by itself.
func (s *Store) removeReady(ctx context.Context, ready []*dueRun) error {
	err := s.removeRuns(ctx, ready)
	if err == nil || passing(ctx, err) {
		return err
	}
	for _, d := range ready {
		if err := s.removeRuns(ctx, []*dueRun{d}); err != nil {
			if passing(ctx, err) {
				return err
			}
			s.postpone(ctx, d, err)
		}
	}
	return nil
}

// lookAgain enters the runs with their next times, and removes those without one. An entry that was written meanwhile stays.
func (s *Store) lookAgain(ctx context.Context, due []*dueRun) error {
	args := append(make([]any, 0, 1+3*len(due)), len(due))
	for _, d := range due {
		next := ""
		if d.next != 0 {
			next = strconv.FormatInt(int64(d.next), 10)
		}
		args = append(args, d.id, int64(d.seen), next)
	}
	_, err := s.scripts.watchNext.Run(ctx, s.redis, []string{s.index.Keys.Due()}, args...)
	return fail(err)
}

// untilDue is how long it takes until the head of the list is due, or the removal is tried again, dueEvery at most.
func (s *Store) untilDue(ctx context.Context) (time.Duration, error) {
	if wait := s.dueRuns.failing.waits(); wait > 0 {
		return min(dueEvery, wait), nil
	}
	first, err := s.redis.ZRangeWithScores(ctx, s.index.Keys.Due(), 0, 0).Result()
	if err != nil || len(first) == 0 {
		return dueEvery, fail(err)
	}
	return min(dueEvery, time.Duration(max(0, first[0].Score-float64(s.now())))*time.Millisecond), nil
}

// DueFor returns how long the run that has been due for the longest time waits for its removal; 0 if none waits. Only the leader
// knows of runs that its archive has not taken.
func (s *Store) DueFor(ctx context.Context) (time.Duration, error) {
	first, err := s.redis.ZRangeWithScores(ctx, s.index.Keys.Due(), 0, 0).Result()
	if err != nil {
		return 0, fail(err)
	}
	now, oldest := s.now(), world.Millis(s.dueRuns.oldest.Load())
	if len(first) > 0 && (oldest == 0 || first[0].Score < float64(oldest)) {
		oldest = world.Millis(first[0].Score)
	}
	if oldest == 0 {
		return 0, nil
	}
	return time.Duration(max(0, now-oldest)) * time.Millisecond, nil
}

// heldUntil returns when the hooks of a run that keep their tokens let go of them: the latest of some hundred.
func (s *Store) heldUntil(ctx context.Context, runID string) (world.Millis, error) {
	page, _, err := s.redis.HScan(ctx, s.keys.of(runID).hooks(), 0, "", leftAtOnce).Result()
	if err != nil {
		return 0, fail(err)
	}
	until := s.now() + world.Millis(dueEvery/time.Millisecond)
	for i := 0; i+1 < len(page); i += 2 {
		if h, ok := record.ParseHook(runID, page[i], page[i+1]); ok {
			until = max(until, h.Until)
		}
	}
	return until, nil
}
