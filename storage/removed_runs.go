package storage

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/storage/internal/runindex"
)

// A run that has been removed is never created anew. For an hour its mark says so, in its own slot. After that a bucket does, which
// is in another slot: the removal notes the run there before the mark gets its expiry. A bucket has the runs of one day, the day in
// their ids, and is a hash of fingerprints, which takes about 13 bytes a run. It expires when the youngest id of its day is older
// than Config.RemovedFor. An older id that is unknown is refused without a look.
//
// A run whose id has no time is in the bucket of the day of its removal, and all buckets are read for such an id.
//
// A fingerprint is 80 bits of the id's SHA-256. With a million removed runs of its day, one of 10^18 new runs is taken for a removed
// one.

const (
	// printSize, shortestField and longestField are those of lua/removed_note.lua.
	printSize     = 10
	shortestField = 2
	longestField  = 6
	// notedAtOnce is how many runs one script notes, with two calls each.
	notedAtOnce = 500
	// freshFor is the age up to which a run id needs no look at the buckets: the mark of its run is still there if it has been
	// removed. It is shorter than removedFor by more than ids and clocks may differ.
	freshFor = 50 * time.Minute
	day      = 24 * time.Hour
)

var _ world.GoneRuns = (*Store)(nil)

// fingerprint is what a bucket keeps of a run.
func fingerprint(runID string) string {
	sum := sha256.Sum256([]byte(runID))
	return string(sum[:printSize])
}

// printFields are the fields of a bucket that may hold a fingerprint. The first one that is not empty counts.
func printFields(finger string) []string {
	digits := hex.EncodeToString([]byte(finger[:longestField/2]))
	fields := make([]string, 0, longestField-shortestField+1)
	for n := shortestField; n <= longestField; n++ {
		fields = append(fields, digits[:n])
	}
	return fields
}

// noteRemoved enters runs that are removed into the buckets of their days. It is safe to call again.
func (s *Store) noteRemoved(ctx context.Context, runIDs []string) error {
	now := s.clock.Now()
	prints := map[time.Time][]any{}
	for _, runID := range runIDs {
		at := now
		if ms, ok := runindex.Time(runID); ok {
			at = ms.Time()
		}
		of := at.UTC().Truncate(day)
		prints[of] = append(prints[of], fingerprint(runID))
	}
	var inputs []scriptInput
	for of, all := range prints {
		left := of.Add(day + s.removedKept).Sub(now)
		if left < time.Second {
			continue // ids of that day are too old to create a run
		}
		for len(all) > 0 {
			n := min(len(all), notedAtOnce)
			inputs = append(inputs, scriptInput{
				keys: []string{s.keys.removedOn(of)}, args: append([]any{int64(left / time.Second)}, all[:n]...),
			})
			all = all[n:]
		}
	}
	for _, in := range inputs { // one at a time: each is a few milliseconds of Redis
		if _, err := s.runMany(ctx, s.scripts.removedNote, []scriptInput{in}); err != nil {
			return err
		}
	}
	return nil
}

// isFresh reports that the mark of a run with this id would still be there.
func (s *Store) isFresh(runID string) bool {
	ms, ok := runindex.Time(runID)
	age := s.clock.Now().Sub(ms.Time())
	return ok && age < freshFor && age > -maxRunFuture
}

// mayCreate refuses the creation of a run that has been removed, or whose id is so old that this cannot be known. It costs nothing
// for the id of a new run. A run that exists passes.
func (s *Store) mayCreate(ctx context.Context, req world.CreateEvent) error {
	if s.isFresh(req.RunID) {
		return nil
	}
	why, err := s.whyGone(ctx, req.RunID)
	switch {
	case err != nil || why == "":
		return err
	case req.Type == world.EventRunCreated:
		return runRemoved(req.RunID)
	default:
		return world.RunNotFound(req.RunID)
	}
}

// WhyGone implements world.GoneRuns.
func (s *Store) WhyGone(ctx context.Context, runID string) (string, error) {
	if !world.ValidID(runID) {
		return "", nil
	}
	return s.whyGone(ctx, runID)
}

func (s *Store) whyGone(ctx context.Context, runID string) (string, error) {
	finger := fingerprint(runID)
	fields := printFields(finger)
	var alive, marked *redis.IntCmd
	var reads []*redis.SliceCmd
	_, err := s.redis.Pipelined(ctx, func(p redis.Pipeliner) error {
		k := s.keys.of(runID)
		alive, marked = p.Exists(ctx, k.run()), p.Exists(ctx, k.removed())
		for _, of := range s.daysOf(runID) {
			reads = append(reads, p.HMGet(ctx, s.keys.removedOn(of), fields...))
		}
		return nil
	})
	if err != nil {
		return "", fail(err)
	}
	if alive.Val() > 0 {
		return "", nil
	}
	removed := marked.Val() > 0
	for _, read := range reads {
		removed = removed || hasPrint(read.Val(), finger)
	}
	ms, hasTime := runindex.Time(runID)
	switch {
	case removed:
		return fmt.Sprintf("run %q has been removed", runID), nil
	case hasTime && s.clock.Now().Sub(ms.Time()) > s.removedKept:
		return fmt.Sprintf("run %q does not exist, and its id is older than %s: it has been removed, or it was never created", runID, days(s.removedKept)), nil
	default:
		return "", nil
	}
}

// daysOf returns the days in whose buckets a run may be.
func (s *Store) daysOf(runID string) []time.Time {
	if ms, ok := runindex.Time(runID); ok {
		return []time.Time{ms.Time().UTC().Truncate(day)}
	}
	today := s.clock.Now().UTC().Truncate(day)
	var all []time.Time
	for age := time.Duration(0); age <= s.removedKept+day; age += day {
		all = append(all, today.Add(-age))
	}
	return all
}

// hasPrint reports whether the fields of a bucket hold a fingerprint.
func hasPrint(fields []any, finger string) bool {
	for _, field := range fields {
		held, _ := field.(string)
		if field != nil && held == "" {
			continue // it was divided
		}
		for ; len(held) >= printSize; held = held[printSize:] {
			if strings.HasPrefix(held, finger) {
				return true
			}
		}
		return false
	}
	return false
}
