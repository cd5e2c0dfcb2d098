package storage

import (
	"fmt"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/redistest"
)

// expireMark does what Redis does an hour after a removal.
func (b *bundle) expireMark(runID string) {
	b.t.Helper()
	mark := b.keys.of(runID).removed()
	require.Positive(b.t, b.redis.Client.PTTL(b.ctx, mark).Val(), "it has an expiry")
	require.NoError(b.t, b.redis.Client.Del(b.ctx, mark).Err())
}

// requireGone requires that neither event creates a run that has been removed.
func (b *bundle) requireGone(runID string, created world.Code) {
	b.t.Helper()
	_, err := b.try(runID, world.EventRunStarted, "", b.runData())
	require.Equal(b.t, world.CodeRunNotFound, world.ErrorCode(err), "run_started with the input: %v", err)
	_, err = b.try(runID, world.EventRunCreated, "", b.runData())
	require.Equal(b.t, created, world.ErrorCode(err), "run_created: %v", err)
	_, err = b.GetRun(b.ctx, runID, false)
	require.Equal(b.t, world.CodeRunNotFound, world.ErrorCode(err))
	b.quiet()
	b.clock.Add(2 * time.Minute)
	b.sweep()
	require.Empty(b.t, b.naming(runID), "no list names it")
}

// A run that has been removed is never created anew: in the first hour its mark says so, for thirty days a bucket, and then its age.
func TestARunThatHasGoneIsNeverCreatedAnew(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		b := newBundle(t, r).on(t, 7)
		for _, spec := range []int{2, 3, 5, 7} {
			b.spec = spec
			runID := b.full(fmt.Sprintf("_%d", spec), true)
			require.NoError(t, b.RemoveRun(b.ctx, runID))
			b.expireMark(runID)
			b.clock.Add(time.Hour)
			b.requireGone(runID, world.CodeConflict)
			b.clock.Add(22 * time.Hour)
			b.requireGone(runID, world.CodeConflict)
			b.clock.Add(27 * day)
			b.requireGone(runID, world.CodeInvalid)
			why, err := b.WhyGone(b.ctx, runID)
			require.NoError(t, err)
			require.Equal(t, fmt.Sprintf("run %q has been removed", runID), why)

			b.clock.Add(3 * day)
			require.NoError(t, r.Client.Del(b.ctx, b.keys.removedOn(b.daysOf(runID)[0])).Err())
			b.requireGone(runID, world.CodeInvalid)
			why, err = b.WhyGone(b.ctx, runID)
			require.NoError(t, err)
			require.Contains(t, why, "older than 30 days")
		}
	})
}

// An id without a time is looked for in the buckets of all days.
func TestARunWithAnIDOfItsOwnIsNotCreatedAnew(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		b := newBundle(t, r).on(t, 7)
		const runID = "wrun_of-my-own"
		b.send(runID, world.EventRunStarted, "", b.runData())
		b.send(runID, world.EventRunCompleted, "", sample(b, world.EventRunCompleted))
		b.quiet()
		require.NoError(t, b.RemoveRun(b.ctx, runID))
		b.expireMark(runID)
		for range 3 {
			b.clock.Add(9 * day)
			b.requireGone(runID, world.CodeInvalid)
		}
	})
}

// What is not removed may be created, however long its first message waited, and goes on when it is old.
func TestALateStartThatIsNotRemovedCreatesItsRun(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		b := newBundle(t, r).on(t, 7)
		late := b.ids.Prefixed("wrun_")
		b.clock.Add(29 * day)
		b.send(late, world.EventRunStarted, "", b.runData())
		b.clock.Add(29 * day)
		b.send(late, world.EventRunStarted, "", b.runData())
		b.check(late)
		why, err := b.WhyGone(b.ctx, late)
		require.NoError(t, err)
		require.Empty(t, why)
		_, err = b.try(b.ids.Prefixed("wrun_")[:10]+"no ulid {}", world.EventRunStarted, "", b.runData())
		require.Equal(t, world.CodeInvalid, world.ErrorCode(err))
		why, err = b.WhyGone(b.ctx, "no {id}")
		require.NoError(t, err)
		require.Empty(t, why)
	})
}

// A repeated runs.create of an SDK from before event sourcing does not create its run anew.
func TestALegacyRunThatHasGoneIsNotCreatedAnew(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		b := newBundle(t, r)
		create := world.CreateLegacyRun{DeploymentID: "d", WorkflowName: "w", Input: world.Raw{0x80}, RequestID: "r"}
		run, err := b.CreateLegacyRun(b.ctx, create)
		require.NoError(t, err)
		_, err = b.UpdateLegacyRun(b.ctx, world.UpdateLegacyRun{RunID: run.RunID, Status: world.RunCompleted, RequestID: "e"})
		require.NoError(t, err)
		b.quiet()
		require.NoError(t, b.RemoveRun(b.ctx, run.RunID))
		_, err = b.CreateLegacyRun(b.ctx, create)
		require.Equal(t, world.CodeConflict, world.ErrorCode(err), "%v", err)
		require.ErrorContains(t, err, "has been removed")
		_, err = b.GetRun(b.ctx, run.RunID, false)
		require.Equal(t, world.CodeRunNotFound, world.ErrorCode(err))
	})
}

// A bucket takes at most 40 bytes a run, expires by itself, and notes a run once. What is in it is found, and nothing else.
func TestABucketOfRemovedRunsIsSmall(t *testing.T) {
	t.Parallel()
	r := redistest.New(t)
	b := newBundle(t, r)
	var runs []string
	total := 0
	for _, upTo := range []int{1000, 10_000, 120_000} {
		for len(runs) < upTo {
			runs = append(runs, "wrun_"+ulid.MustNew(ulid.Timestamp(b.clock.Now())+uint64(len(runs)), nil).String())
		}
		require.NoError(t, b.noteRemoved(b.ctx, runs[total:]))
		total = upTo
		bucket := b.keys.removedOn(b.clock.Now())
		bytes := r.Client.MemoryUsage(b.ctx, bucket, 0).Val()
		t.Logf("%d runs: %.1f bytes a run", total, float64(bytes)/float64(total))
		require.LessOrEqual(t, bytes, int64(40*total), "%d runs", total)
		require.InDelta(t, 30*day+b.clock.Now().UTC().Truncate(day).Add(day).Sub(b.clock.Now()), r.Client.TTL(b.ctx, bucket).Val(), float64(time.Minute))
	}
	require.Equal(t, []string{b.keys.removedOn(b.clock.Now())}, b.keysLike(b.keys.prefix+"*"))
	fields, err := r.Client.HGetAll(b.ctx, b.keys.removedOn(b.clock.Now())).Result()
	require.NoError(t, err)
	require.NoError(t, b.noteRemoved(b.ctx, runs[:2000]), "again")
	held, divided := 0, 0
	for field, prints := range r.Client.HGetAll(b.ctx, b.keys.removedOn(b.clock.Now())).Val() {
		require.Equal(t, fields[field], prints, "nothing is noted twice")
		if held += len(prints); prints == "" {
			divided++
		}
	}
	require.Equal(t, 10*total, held)
	require.NotZero(t, divided)
	for i := 0; i < total; i += 997 {
		why, err := b.WhyGone(b.ctx, runs[i])
		require.NoError(t, err)
		require.NotEmpty(t, why, runs[i])
		why, err = b.WhyGone(b.ctx, b.ids.Prefixed("wrun_"))
		require.NoError(t, err)
		require.Empty(t, why)
	}
}

// Runs of several days have a bucket each; those that are too old to be created have none.
func TestRemovedRunsAreNotedByTheDayOfTheirIDs(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		b := newBundle(t, r)
		at := func(age time.Duration) string {
			return "wrun_" + ulid.MustNew(ulid.Timestamp(b.clock.Now().Add(-age)), nil).String()
		}
		require.NoError(t, b.noteRemoved(b.ctx, nil))
		require.NoError(t, b.noteRemoved(b.ctx, []string{at(0), at(day), at(29 * day), at(32 * day), at(-day)}))
		require.ElementsMatch(t, []string{
			b.keys.removedOn(b.clock.Now()), b.keys.removedOn(b.clock.Now().Add(-day)), b.keys.removedOn(b.clock.Now().Add(-29 * day)),
			b.keys.removedOn(b.clock.Now().Add(day)),
		}, b.keysLike(b.keys.prefix+"*"))
		for _, age := range []time.Duration{0, day, 29 * day, 32 * day, -day} {
			why, err := b.WhyGone(b.ctx, at(age))
			require.NoError(t, err)
			require.NotEmpty(t, why, age)
		}
	})
}
