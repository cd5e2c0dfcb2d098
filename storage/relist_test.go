package storage

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/rediskey"
	"github.com/world-redis/world-redis/internal/redistest"
)

// On a cluster the lists of runs are on other masters than the runs, so a failover may lose a run's entries and not the
// run, or the end of a run and not what followed from it. Both are entered again; parked and ended runs are not.
func TestRunsAreListedAgainAfterALoss(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		b := newBundle(t, r).on(t, 7)
		created, active, parked, ended, undone := b.newRun(), b.running(), b.running(), b.running(), b.running()
		b.send(undone, world.EventHookCreated, x, data(t, "token", "t"))
		b.send(ended, world.EventRunCompleted, "", sample(b, world.EventRunCompleted))
		idles, err := b.RunsIdle(b.ctx, []string{parked})
		require.NoError(t, err)
		require.NoError(t, b.MarkIdle(b.ctx, parked, idles[0].Events))
		b.quiet()
		lists := []string{b.index.Keys.Watch(), b.index.Keys.All(), b.index.Keys.ByStatus(world.RunRunning), b.index.Keys.ByStatus(world.RunPending), b.index.Keys.ByName("wf")}
		require.NoError(t, b.redis.Client.Unlink(b.ctx, lists[0]).Err())
		for _, key := range append(lists[1:], b.keys.hook(x), b.keys.claim(rediskey.Hash("t"))) {
			require.NoError(t, b.redis.Client.Unlink(b.ctx, key).Err())
		}

		calls := []world.AnsweredCall{
			{Kind: world.AnsweredStart, RunID: created, WorkflowName: "wf"},
			{Kind: world.AnsweredResume, RunID: active},
			{Kind: world.AnsweredResume, RunID: parked},
			{Kind: world.AnsweredStart, RunID: ended, WorkflowName: "wf"},
			{Kind: world.AnsweredEnd, RunID: ended},
			{Kind: world.AnsweredEnd, RunID: undone},
			{Kind: world.AnsweredStart, RunID: "wrun_01ARZ3NDEKTSV4RRFFQ69G5FAV", WorkflowName: "wf"},
		}
		for range 2 { // a second time changes nothing
			takenBack, err := b.Relist(b.ctx, calls)
			require.NoError(t, err)
			require.Equal(t, 1, takenBack)
			require.ElementsMatch(t, []string{created, active, undone}, b.listed(lists[0]))
			require.ElementsMatch(t, []string{created, active, undone}, b.listed(lists[1]))
			require.ElementsMatch(t, []string{active, undone}, b.listed(lists[2]))
			require.Equal(t, []string{created}, b.listed(lists[3]))
			require.ElementsMatch(t, []string{created, undone}, b.listed(lists[4]))
			hook, err := b.GetHookByToken(b.ctx, "t", true)
			require.NoError(t, err)
			require.Equal(t, undone, hook.RunID)
		}
	})
}
