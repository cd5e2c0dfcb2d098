package storage

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/redistest"
)

// runOf creates and starts a run of a spec version.
func (b *bundle) runOf(spec int) string {
	b.t.Helper()
	created, err := b.CreateEvent(b.ctx, world.CreateEvent{Type: world.EventRunCreated, SpecVersion: spec, Data: b.runData()})
	require.NoError(b.t, err)
	_, err = b.CreateEvent(b.ctx, world.CreateEvent{RunID: created.Run.RunID, Type: world.EventRunStarted, SpecVersion: spec})
	require.NoError(b.t, err)
	return created.Run.RunID
}

// The run's spec version decides how its events are numbered, whatever the version of the writer: dense slots from spec
// 6 on, ULIDs before.
func TestEventIDsFollowTheRun(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		b := newBundle(t, r)
		for _, spec := range []int{6, 7} {
			runID := b.runOf(spec)
			for i := range 10 {
				b.send(runID, world.EventStepCreated, fmt.Sprintf("step_%d", i), sample(b, world.EventStepCreated))
			}
			for i, e := range b.events(runID) {
				require.Equal(t, fmt.Sprintf("evnt_%026d", i+1), e.EventID)
			}
			b.check(runID)
		}
		for _, spec := range []int{2, 3, 5} {
			runID := b.runOf(spec)
			_, err := b.CreateEvent(b.ctx, world.CreateEvent{
				RunID: runID, Type: world.EventStepCreated, CorrelationID: x, SpecVersion: 7, Data: sample(b, world.EventStepCreated),
			})
			require.NoError(t, err)
			for _, e := range b.events(runID) {
				require.Regexp(t, `^wevt_[0-9A-HJKMNP-TV-Z]{26}$`, e.EventID)
			}
			b.check(runID)
		}
	})
}

// Ids and times never decrease along a log, even when a replica whose clock is behind writes after one whose clock is
// ahead.
func TestClocksThatDisagree(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		ahead := newBundle(t, r)
		behind := newBundle(t, r)
		ahead.clock.Add(time.Hour)
		runID := ahead.running()
		for i := range 40 {
			on := []*bundle{ahead, behind}[i%2]
			got := on.send(runID, world.EventStepCreated, fmt.Sprintf("step_%d", i), sample(on, world.EventStepCreated))
			require.Equal(t, ahead.now(), got.Step.CreatedAt)
		}
		ahead.check(runID)
	})
}

// Attributes are present from spec 4 on, possibly empty, and absent before.
func TestAttributesBySpec(t *testing.T) {
	t.Parallel()
	b := newBundle(t, redistest.New(t))
	old, err := b.GetRun(b.ctx, b.runOf(3), true)
	require.NoError(t, err)
	require.Nil(t, old.Attributes)
	young, err := b.GetRun(b.ctx, b.runOf(5), true)
	require.NoError(t, err)
	require.Equal(t, world.Raw{0xa0}, young.Attributes)
}

// From spec 4 on, a run that ended accepts no step_started; before, a running step may be started again.
func TestStartedOnEndedRunBySpec(t *testing.T) {
	t.Parallel()
	b := newBundle(t, redistest.New(t))
	for spec, want := range map[int]world.Code{3: "", 4: world.CodeRunExpired, 7: world.CodeRunExpired} {
		runID := b.runOf(spec)
		b.send(runID, world.EventStepCreated, x, sample(b, world.EventStepCreated))
		b.send(runID, world.EventStepStarted, x, nil)
		b.send(runID, world.EventRunCancelled, "", nil)
		_, err := b.try(runID, world.EventStepStarted, x, nil)
		require.Equal(t, want, world.ErrorCode(err), "spec %d", spec)
	}
}

// A run whose spec version is newer than this World accepts only events that do not consult the run.
func TestRunOfTheFuture(t *testing.T) {
	t.Parallel()
	b := newBundle(t, redistest.New(t))
	runID := b.ids.Prefixed("wrun_")
	_, err := b.CreateEvent(b.ctx, world.CreateEvent{RunID: runID, Type: world.EventRunCreated, SpecVersion: 8, Data: b.runData()})
	require.NoError(t, err)
	for _, e := range []world.EventType{
		world.EventRunStarted, world.EventRunCompleted, world.EventRunFailed, world.EventRunCancelled, world.EventStepCreated,
		world.EventStepStarted, world.EventStepFailed, world.EventHookCreated, world.EventHookReceived, world.EventHookDisposed,
		world.EventWaitCreated, world.EventWaitCompleted,
	} {
		_, err := b.try(runID, e, x, sample(b, e))
		var refusal *world.Error
		require.ErrorAs(t, err, &refusal, e)
		require.Equal(t, world.CodeRunNotSupported, refusal.Code)
		require.Equal(t, []any{runID, 8, 7}, []any{refusal.RunID, refusal.RunSpec, refusal.WorldSpec})
	}
	b.checkClaims()
}

// Runs of spec 1 accept three events (contract §3.10).
func TestLegacyRun(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		b := newBundle(t, r)
		runID := b.ids.Prefixed("wrun_")
		_, err := b.CreateEvent(b.ctx, world.CreateEvent{RunID: runID, Type: world.EventRunCreated, SpecVersion: 1, Data: b.runData()})
		require.NoError(t, err)
		for _, e := range []world.EventType{
			world.EventRunStarted, world.EventRunCompleted, world.EventRunFailed, world.EventStepCreated, world.EventHookCreated, world.EventWaitCreated,
		} {
			_, err := b.try(runID, e, x, sample(b, e))
			require.Equal(t, world.CodeInvalid, world.ErrorCode(err), e)
			require.ErrorContains(t, err, "not supported for legacy runs")
		}
		received := b.send(runID, world.EventHookReceived, "hook_1", sample(b, world.EventHookReceived))
		require.Equal(t, world.EventResult{Event: received.Event}, received)
		require.Equal(t, 3, received.Event.SpecVersion)
		b.send(runID, world.EventWaitCompleted, "wait_1", nil)
		b.clock.Add(time.Second)
		cancelled := b.send(runID, world.EventRunCancelled, "", nil)
		require.Nil(t, cancelled.Event)
		require.Equal(t, world.RunCancelled, cancelled.Run.Status)
		require.Equal(t, b.now(), cancelled.Run.CompletedAt)
		require.Equal(t, cancelled.Run, b.send(runID, world.EventRunCancelled, "", nil).Run)
		require.Equal(t, []world.EventType{world.EventRunCreated, world.EventHookReceived, world.EventWaitCompleted}, types(b.events(runID)))
		_, err = b.CreateEvent(b.ctx, world.CreateEvent{RunID: runID, Type: world.EventHookReceived, CorrelationID: "hook_1", SpecVersion: 7})
		require.Equal(t, world.CodeRunExpired, world.ErrorCode(err))
	})
}

// The answer of run_started contains the log if all of it fits, also when the call changes nothing; a caller that does
// not want it does not get it.
func TestPreload(t *testing.T) {
	t.Parallel()
	b := newBundle(t, redistest.New(t))
	for spec, tooLong := range map[int]int{3: 0, 7: preloadEvents} {
		runID := b.runOf(spec)
		b.send(runID, world.EventHookCreated, x, data(t, "token", runID))
		for i := 3; i < preloadEvents; i++ {
			b.send(runID, world.EventHookReceived, x, sample(b, world.EventHookReceived))
		}
		full := b.send(runID, world.EventRunStarted, "", nil)
		require.Nil(t, full.Event)
		require.Len(t, full.Events, preloadEvents)
		require.False(t, full.HasMore)
		require.Equal(t, b.events(runID), full.Events)
		b.send(runID, world.EventHookReceived, x, sample(b, world.EventHookReceived))
		rest, err := b.ListEvents(b.ctx, world.EventQuery{RunID: runID, Page: world.PageRequest{Cursor: full.Cursor}})
		require.NoError(t, err)
		require.Len(t, rest.Data, 1, "the cursor of the preload goes on where it ended")
		long := b.send(runID, world.EventRunStarted, "", nil)
		require.Len(t, long.Events, tooLong)
		require.Equal(t, tooLong > 0, long.HasMore)

		skipped, err := b.CreateEvent(b.ctx, world.CreateEvent{RunID: runID, Type: world.EventRunStarted, SpecVersion: 3, SkipPreload: true})
		require.NoError(t, err)
		require.Nil(t, skipped.Events)
		require.Empty(t, skipped.Cursor)
	}
}
