package storage

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/redistest"
	"github.com/world-redis/world-redis/storage/internal/runindex"
)

// A call does not wait until a run is removed from the list of its old status; but once it returns, the run is listed
// with its new status, and with no other.
func TestARunIsShownWithItsNewStatusOnceTheCallReturns(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		b := newBundle(t, r)
		shown := func(want world.RunStatus, runID string) {
			t.Helper()
			for _, status := range runindex.Statuses {
				page, err := b.ListRuns(b.ctx, world.RunQuery{Statuses: []world.RunStatus{status}})
				require.NoError(t, err)
				require.Equal(t, status == want, len(page.Data) == 1 && page.Data[0].RunID == runID, "%s in the list %s", want, status)
			}
		}
		runID := b.newRun()
		shown(world.RunPending, runID)
		b.send(runID, world.EventRunStarted, "", nil)
		shown(world.RunRunning, runID)
		b.send(runID, world.EventRunCompleted, "", data(t, "output", 1))
		shown(world.RunCompleted, runID)
		b.check(runID)
	})
}

// A refused event leaves no entry in the list of its new status, and the run stays in the list of its status.
func TestARefusedEventLeavesTheListsAsTheyAre(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		b := newBundle(t, r)
		cancelled := b.running()
		b.send(cancelled, world.EventRunCancelled, "", nil)
		b.quiet()
		_, err := b.try(cancelled, world.EventRunCompleted, "", data(t, "output", 1))
		require.Equal(t, world.CodeConflict, world.ErrorCode(err))
		_, err = b.try(cancelled, world.EventRunStarted, "", nil)
		require.Equal(t, world.CodeRunExpired, world.ErrorCode(err))
		b.check(cancelled)

		missing := b.ids.Prefixed("wrun_")
		for _, event := range []world.EventType{world.EventRunCompleted, world.EventRunStarted} {
			_, err = b.try(missing, event, "", nil)
			require.Equal(t, world.CodeRunNotFound, world.ErrorCode(err))
		}
		require.Equal(t, []string{cancelled}, append(b.listed(b.index.Keys.ByStatus(world.RunCancelled)), b.listed(b.index.Keys.ByStatus(world.RunCompleted))...))
		b.clock.Add(2 * time.Minute)
		require.Zero(t, b.sweep(), "what run_started has left goes when it cannot be on its way any more; that is no crash")
		require.Empty(t, b.listed(b.index.Keys.ByStatus(world.RunRunning)))
		require.Zero(t, b.sweep())
	})
}

// A run_started that comes before its run leaves an entry that is wrong until the run starts. The sweeper does not
// remove it, because it may just have become right.
func TestAStartBeforeItsRunLosesNoEntry(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		b := newBundle(t, r)
		runID := b.ids.Prefixed("wrun_")
		_, err := b.try(runID, world.EventRunStarted, "", nil)
		require.Equal(t, world.CodeRunNotFound, world.ErrorCode(err))
		b.send(runID, world.EventRunCreated, "", b.runData())
		b.clock.Add(2 * time.Minute)
		require.Zero(t, b.sweep())
		require.Equal(t, []string{runID}, b.listed(b.index.Keys.ByStatus(world.RunPending)))
		page, err := b.ListRuns(b.ctx, world.RunQuery{Statuses: []world.RunStatus{world.RunRunning}})
		require.NoError(t, err)
		require.Empty(t, page.Data)
		b.send(runID, world.EventRunStarted, "", nil)
		b.check(runID)
	})
}

// An end that was listed, but not applied because the run ended otherwise, leaves an entry that no call removes: the
// first reader that notices it does. Entries of the lists of unfinished runs are not removed in this way.
func TestAReaderTakesAwayTheEntryOfAnEndThatWasNot(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		b := newBundle(t, r)
		cancelled, running := b.running(), b.running()
		b.send(cancelled, world.EventRunCancelled, "", nil)
		b.quiet()
		for _, status := range []world.RunStatus{world.RunCompleted, world.RunPending} {
			for _, runID := range []string{cancelled, running} {
				pipe := r.Client.Pipeline()
				b.index.Enter(b.ctx, pipe, b.index.Entry(runID, "wf", b.now(), status))
				_, err := pipe.Exec(b.ctx)
				require.NoError(t, err)
			}
		}

		for _, query := range []world.RunQuery{
			{Statuses: []world.RunStatus{world.RunCompleted, world.RunFailed}},
			{Statuses: []world.RunStatus{world.RunCompleted}, WorkflowName: "wf"},
			{Statuses: []world.RunStatus{world.RunPending}},
		} {
			page, err := b.ListRuns(b.ctx, query)
			require.NoError(t, err)
			require.Empty(t, page.Data)
		}
		require.Equal(t, []string{running}, b.listed(b.index.Keys.ByStatus(world.RunCompleted)), "it may be about to complete")
		require.ElementsMatch(t, []string{cancelled, running}, b.listed(b.index.Keys.ByStatus(world.RunPending)), "the sweeper's sign")
		require.Equal(t, []string{cancelled}, b.listed(b.index.Keys.ByStatus(world.RunCancelled)))
	})
}
