package storage

import (
	"bytes"
	"log/slog"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/redistest"
	"github.com/world-redis/world-redis/storage/storagetest"
)

// loggingBundle also returns the log of its store.
func loggingBundle(t *testing.T, r *redistest.Redis, spec int) (*bundle, *bytes.Buffer) {
	t.Helper()
	out := &bytes.Buffer{}
	b := newBundle(t, r).on(t, spec)
	store, err := New(t.Context(), r.Client, Config{Prefix: r.Prefix, Clock: b.clock, Logger: slog.New(slog.NewTextHandler(out, nil))})
	require.NoError(t, err)
	b.Store = store
	return b, out
}

// BR-03: a step was changed by hand, so that it refuses what its run needs: the step is rebuilt from its events, the
// call succeeds, and the log names the run.
func TestBR03StepThatDiffersFromItsEventsIsMended(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		for _, spec := range []int{3, 7} {
			b, out := loggingBundle(t, r, spec)
			created, retried := scene((*bundle).running).then(world.EventStepCreated), scene((*bundle).running).then(
				world.EventStepCreated, world.EventStepStarted, world.EventStepRetrying, world.EventStepStarted)
			for name, c := range map[string]struct {
				from  scene
				spoil func(key string) error
				next  world.EventType
			}{
				"completed, without the event": {retried, func(key string) error {
					return r.Client.HSet(b.ctx, key, "s", "completed", "ca", int64(b.now()), "oe", 1).Err()
				}, world.EventStepCompleted},
				"failed, without the event, to be started": {created, func(key string) error {
					return r.Client.HSet(b.ctx, key, "s", "failed").Err()
				}, world.EventStepStarted},
				"gone":                     {retried, func(key string) error { return r.Client.Del(b.ctx, key).Err() }, world.EventStepFailed},
				"gone, to be started":      {created, func(key string) error { return r.Client.Del(b.ctx, key).Err() }, world.EventStepStarted},
				"there, without any event": {(*bundle).running, func(key string) error { return r.Client.HSet(b.ctx, key, "s", "pending").Err() }, world.EventStepCreated},
				"gone, and to be retried":  {retried, func(key string) error { return r.Client.Del(b.ctx, key).Err() }, world.EventStepRetrying},
			} {
				for _, batched := range []bool{false, true} {
					runID := c.from(b)
					require.NoError(t, c.spoil(b.keys.of(runID).step(x)), name)
					mended, before := b.Stats().StepsMended, len(b.events(runID))
					if batched {
						events := []world.CreateEvent{b.entry(world.EventWaitCreated, "wait_8"), b.entry(c.next, x), b.entry(world.EventWaitCreated, "wait_9")}
						first := b.batch(runID, "r", events...)
						require.Equal(t, make([]world.Code, 3), storagetest.ItemCodes(first), name)
						require.Equal(t, []world.EventType{world.EventWaitCreated, c.next, world.EventWaitCreated}, types(b.events(runID)[before:]))
						require.Equal(t, first, b.batch(runID, "r", events...), name)
					} else {
						b.send(runID, c.next, x, sample(b, c.next))
					}
					require.Equal(t, mended+1, b.Stats().StepsMended, name)
					require.Contains(t, out.String(), runID, name)
					b.check(runID)
				}
			}
			// A justified refusal stays, and mends nothing.
			before := b.Stats()
			runID := created.then(world.EventStepCompleted)(b)
			for _, late := range []world.EventType{world.EventStepCreated, world.EventStepStarted, world.EventStepCompleted} {
				_, err := b.try(runID, late, x, sample(b, late))
				require.Equal(t, world.CodeConflict, world.ErrorCode(err))
			}
			_, err := b.try(runID, world.EventStepStarted, "never_1", nil)
			require.Equal(t, world.CodeStepNotFound, world.ErrorCode(err))
			require.Equal(t, before, b.Stats())
		}
	})
}

// BR-03: an event is missing from the log of a run, so no replay can be right: the run is failed with the SDK's code
// for that and named in the log, its next delivery is answered that the run has ended, and the run can still be read. A
// run with zero retention can end, too.
func TestBR03RunWithAHoleInItsLogIsFailed(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		for _, spec := range []int{3, 7} {
			b, out := loggingBundle(t, r, spec)
			for _, gone := range []int{0, 2, 5} {
				for name, find := range map[string]func(runID string) error{
					"a list":     func(runID string) error { _, err := b.ListEvents(b.ctx, world.EventQuery{RunID: runID}); return err },
					"a delivery": func(runID string) error { _, err := b.try(runID, world.EventRunStarted, "", nil); return err },
				} {
					runID := scene((*bundle).running).then(world.EventWaitCreated, world.EventWaitCompleted)(b)
					b.send(runID, world.EventHookCreated, "hook_1", data(t, "token", "t"))
					b.send(runID, world.EventStepCreated, "step_1", sample(b, world.EventStepCreated))
					removeEvent(b, runID, gone)
					lost := b.Stats().RunsLost
					require.Equal(t, world.CodeInternal, world.ErrorCode(find(runID)), "%s, event %d", name, gone)
					require.Equal(t, lost+1, b.Stats().RunsLost)
					require.Contains(t, out.String(), runID)
					run, err := b.GetRun(b.ctx, runID, false)
					require.NoError(t, err)
					require.Equal(t, []any{world.RunFailed, lostLogCode}, []any{run.Status, run.ErrorCode})
					require.Contains(t, string(run.Error), "gone from the run's log")
					_, err = b.try(runID, world.EventRunStarted, "", nil)
					require.Equal(t, world.CodeRunExpired, world.ErrorCode(err))
					_, err = b.ListEvents(b.ctx, world.EventQuery{RunID: runID})
					require.Equal(t, world.CodeInternal, world.ErrorCode(err))
					require.Equal(t, lost+1, b.Stats().RunsLost, "once")
					_, err = b.GetHookByToken(b.ctx, "t", false)
					require.Equal(t, world.CodeHookNotFound, world.ErrorCode(err))
				}
			}
		}
		b := newBundle(t, r).on(t, 7)
		runID := scene((*bundle).running).then(world.EventWaitCreated)(b)
		removeEvent(b, runID, 2)
		_, err := b.CreateBatch(b.ctx, world.CreateBatch{RunID: runID, Events: []world.CreateEvent{b.entry(world.EventWaitCompleted, x)}})
		require.Equal(t, world.CodeInternal, world.ErrorCode(err), "%v", err)
		require.Equal(t, Stats{RunsLost: 1}, b.Stats(), "a batch finds the hole, too")
		// The index of a wait says that it is over, although there is no such event.
		for _, alone := range []bool{true, false} {
			lost := b.Stats().RunsLost
			runID = scene((*bundle).running).then(world.EventWaitCreated)(b)
			require.NoError(t, r.Client.ZAdd(b.ctx, b.keys.of(runID).related(), zOf(0, x+"/0000099")).Err())
			if alone {
				_, err = b.try(runID, world.EventWaitCompleted, x, nil)
			} else {
				_, err = b.CreateBatch(b.ctx, world.CreateBatch{RunID: runID, Events: []world.CreateEvent{b.entry(world.EventWaitCompleted, x)}})
			}
			require.Equal(t, world.CodeInternal, world.ErrorCode(err), "%v", err)
			require.Equal(t, Stats{RunsLost: lost + 1}, b.Stats())
			run, err := b.GetRun(b.ctx, runID, false)
			require.NoError(t, err)
			require.Equal(t, []any{world.RunFailed, lostLogCode}, []any{run.Status, run.ErrorCode})
		}
		runID = b.keepsNothing()
		removeEvent(b, runID, 1)
		require.NotZero(t, b.send(runID, world.EventRunCompleted, "", sample(b, world.EventRunCompleted)).Run.ExpiredAt)
	})
}

// removeEvent removes an event from a log that still counts it.
func removeEvent(b *bundle, runID string, position int) {
	b.t.Helper()
	gone, err := b.redis.Client.HDel(b.ctx, b.keys.of(runID).events(), strconv.Itoa(position), strconv.Itoa(position)+"/p").Result()
	require.NoError(b.t, err)
	require.NotZero(b.t, gone)
}
