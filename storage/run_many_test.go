package storage

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/redistest"
)

// Runs are returned in the order of their ids, with nil for those that do not exist.
func TestGetRuns(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		b := newBundle(t, r)
		first, second, legacy := b.newRun(), b.running(), b.legacyRun().RunID
		got, err := b.GetRuns(b.ctx, []string{second, "wrun_none", legacy, first}, false)
		require.NoError(t, err)
		require.Len(t, got, 4)
		require.Nil(t, got[1])
		for i, runID := range map[int]string{0: second, 2: legacy, 3: first} {
			want, err := b.GetRun(b.ctx, runID, false)
			require.NoError(t, err)
			require.Equal(t, &want, got[i])
		}
		got, err = b.GetRuns(b.ctx, []string{second, legacy}, true)
		require.NoError(t, err)
		require.Nil(t, got[0].Input)
		require.Nil(t, got[1].Input)
		got, err = b.GetRuns(b.ctx, nil, true)
		require.NoError(t, err)
		require.Empty(t, got)
		most := make([]string, world.MaxGetRuns)
		for i := range most {
			most[i] = fmt.Sprintf("wrun_%d", i)
		}
		most[999] = first
		got, err = b.GetRuns(b.ctx, most, true)
		require.NoError(t, err)
		require.Equal(t, first, got[999].RunID)
		_, err = b.GetRuns(b.ctx, append(most, first), true)
		require.Equal(t, world.CodeInvalid, world.ErrorCode(err))
		_, err = b.GetRuns(b.ctx, []string{"a b"}, true)
		require.Equal(t, world.CodeInvalid, world.ErrorCode(err))
		_, err = b.GetRuns(b.ctx, []string{first, second, first}, true)
		require.Equal(t, world.CodeRepeatedID, world.ErrorCode(err))
	})
}

// Each run of a call has its own outcome, and the repeated call gets the same outcomes.
func TestCancelRuns(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		b := newBundle(t, r)
		pending, running, completed, cancelled := b.newRun(), b.running(), b.running(), b.running()
		legacy, legacyDone := b.legacyRun().RunID, b.legacyRun().RunID
		b.send(completed, world.EventRunCompleted, "", sample(b, world.EventRunCompleted))
		b.send(cancelled, world.EventRunCancelled, "", nil)
		_, err := b.UpdateLegacyRun(b.ctx, world.UpdateLegacyRun{RunID: legacyDone, Status: world.RunFailed})
		require.NoError(t, err)
		young, err := b.CreateEvent(b.ctx, world.CreateEvent{Type: world.EventRunCreated, SpecVersion: 9, Data: b.runData()})
		require.NoError(t, err)
		b.send(running, world.EventHookCreated, x, data(t, "token", "tok"))

		req := world.CancelRuns{
			RunIDs:    []string{running, "no such run", completed, cancelled, legacy, pending, legacyDone, "wrun_none", young.Run.RunID},
			Reason:    "it was a mistake",
			RequestID: "r1",
		}
		want := []world.CancelResult{
			{RunID: running, Outcome: world.Cancelled},
			{RunID: "no such run", Outcome: world.CancelNotFound},
			{RunID: completed, Outcome: world.NotCancellable, Status: world.RunCompleted},
			{RunID: cancelled, Outcome: world.AlreadyCancelled},
			{RunID: legacy, Outcome: world.Cancelled},
			{RunID: pending, Outcome: world.Cancelled},
			{RunID: legacyDone, Outcome: world.NotCancellable, Status: world.RunFailed},
			{RunID: "wrun_none", Outcome: world.CancelNotFound},
			{RunID: young.Run.RunID, Outcome: world.CancelFailed, Code: world.CodeRunNotSupported},
		}
		for range 3 {
			got, err := b.CancelRuns(b.ctx, req)
			require.NoError(t, err)
			require.Equal(t, want, got)
		}
		log := b.events(running)
		require.Equal(t, []world.EventType{world.EventRunCreated, world.EventRunStarted, world.EventHookCreated, world.EventRunCancelled}, types(log))
		require.Equal(t, data(t, "cancelReason", "it was a mistake"), log[3].Data)
		require.Len(t, b.events(cancelled), 3)
		_, err = b.GetHookByToken(b.ctx, "tok", false)
		require.Equal(t, world.CodeHookNotFound, world.ErrorCode(err))
		b.check(running, pending, completed, cancelled)

		// Another call finds them cancelled, and adds nothing.
		req.RequestID, req.RunIDs = "r2", []string{running, legacy}
		got, err := b.CancelRuns(b.ctx, req)
		require.NoError(t, err)
		require.Equal(t, []world.CancelResult{
			{RunID: running, Outcome: world.AlreadyCancelled}, {RunID: legacy, Outcome: world.AlreadyCancelled},
		}, got)
		require.Len(t, b.events(running), 4)
	})
}

// Two concurrent calls for the same runs: each run is cancelled by one of them.
func TestCancelRunsTwiceAtOnce(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		b := newBundle(t, r)
		runIDs := make([]string, 60)
		for i := range runIDs {
			runIDs[i] = b.running()
		}
		type answer struct {
			results []world.CancelResult
			err     error
		}
		answers := make(chan answer)
		for i := range 2 {
			go func() {
				got, err := b.CancelRuns(b.ctx, world.CancelRuns{RunIDs: runIDs, RequestID: fmt.Sprint(i)})
				answers <- answer{got, err}
			}()
		}
		one, other := <-answers, <-answers
		require.NoError(t, one.err)
		require.NoError(t, other.err)
		for i := range runIDs {
			require.ElementsMatch(t, []world.CancelOutcome{world.Cancelled, world.AlreadyCancelled},
				[]world.CancelOutcome{one.results[i].Outcome, other.results[i].Outcome})
			require.Len(t, b.events(runIDs[i]), 3)
		}
		b.check(runIDs...)
	})
}

func TestCancelRunsThatCannotBeMade(t *testing.T) {
	t.Parallel()
	b := newBundle(t, redistest.New(t))
	many := make([]string, world.MaxCancelRuns+1)
	for i := range many {
		many[i] = fmt.Sprintf("wrun_%d", i)
	}
	for name, req := range map[string]world.CancelRuns{
		"no run":          {},
		"too many":        {RunIDs: many},
		"too long reason": {RunIDs: []string{"wrun_1"}, Reason: strings.Repeat("😀", 256) + "x"},
	} {
		_, err := b.CancelRuns(b.ctx, req)
		require.Equal(t, world.CodeInvalid, world.ErrorCode(err), name)
	}
	_, err := b.CancelRuns(b.ctx, world.CancelRuns{RunIDs: []string{"wrun_1", "wrun_2", "wrun_1"}})
	require.Equal(t, world.CodeRepeatedID, world.ErrorCode(err))
	got, err := b.CancelRuns(b.ctx, world.CancelRuns{RunIDs: many[:world.MaxCancelRuns], Reason: strings.Repeat("😀", 256)})
	require.NoError(t, err)
	require.Len(t, got, world.MaxCancelRuns)
}
