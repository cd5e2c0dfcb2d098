package storage

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/rediskey"
	"github.com/world-redis/world-redis/internal/redistest"
	"github.com/world-redis/world-redis/internal/worldtest"
	"github.com/world-redis/world-redis/storage/internal/record"
)

// listed returns the runs in a list, whether they exist or not.
func (b *bundle) listed(key string) []string {
	b.t.Helper()
	members, err := b.redis.Client.ZRange(b.ctx, key, 0, -1).Result()
	require.NoError(b.t, err)
	return members
}

// sweep does all the due work of the sweeper and of recovery, and returns how many entries a crash had left.
func (b *bundle) sweep() int {
	b.t.Helper()
	b.quiet()
	before := b.mended.Load()
	for more := true; more; {
		var err error
		more, err = b.Sweep(b.ctx)
		require.NoError(b.t, err)
	}
	for skip := 0; ; {
		due, err := b.DueRuns(b.ctx, b.now()-sweepAge, skip, sweepBatch)
		require.NoError(b.t, err)
		var next []world.NextLook
		for _, look := range due.Live {
			next = append(next, world.NextLook{Look: look, Since: b.now()})
		}
		require.NoError(b.t, b.LookNext(b.ctx, next))
		if skip += due.Left; !due.More {
			return int(b.mended.Load() - before)
		}
	}
}

// A crash between the lists and the commit of run_created leaves a list entry without a run. No reader shows it; it
// stays while its call may still be in progress, and is then removed.
func TestGhostRun(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		b := newBundle(t, r)
		existing := b.newRun()
		ghost := b.ids.Prefixed("wrun_")
		pipe := r.Client.Pipeline()
		b.index.Add(b.ctx, pipe, b.index.Entry(ghost, "wf", b.now(), world.RunPending))
		_, err := pipe.Exec(b.ctx)
		require.NoError(t, err)
		visible := func() {
			t.Helper()
			for _, q := range []world.RunQuery{{}, {WorkflowName: "wf"}, {Statuses: []world.RunStatus{world.RunPending}}} {
				page, err := b.ListRuns(b.ctx, q)
				require.NoError(t, err)
				require.Equal(t, []string{existing}, runIDs(page.Data))
				require.False(t, page.HasMore)
			}
		}
		visible()
		require.Zero(t, b.sweep())
		require.Contains(t, b.listed(b.index.Keys.All()), ghost)
		b.clock.Add(2 * time.Minute)
		require.Equal(t, 1, b.sweep())
		visible() // reading the list of the workflow drops the ghost from that, too
		for _, key := range []string{b.index.Keys.All(), b.index.Keys.ByName("wf"), b.index.Keys.ByStatus(world.RunPending)} {
			require.Equal(t, []string{existing}, b.listed(key))
		}
		require.Zero(t, b.sweep())
	})
}

// A crash just after the commit of a start or an end leaves the run in the list of its old status, and its hooks'
// tokens claimed. Readers rely on the run itself; the sweeper finishes the work.
func TestCrashAfterCommit(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		b := newBundle(t, r)
		started, ended := b.newRun(), b.running()
		b.send(ended, world.EventHookCreated, x, data(t, "token", "tok"))
		hash := rediskey.Hash("tok")

		// Until the crash the service has run only the script.
		for runID, c := range map[string]struct {
			script script
			e      world.EventType
			keys   []string
			args   []any
		}{
			started: {b.scripts.runStart, world.EventRunStarted, nil, []any{"3", "", "", 0, 0}},
			ended: {
				b.scripts.runEnd, world.EventRunFailed,
				[]string{b.keys.of(ended).hooks(), b.keys.of(ended).hooksOrder(), b.keys.of(ended).leftHooks(), b.keys.of(ended).ended()},
				[]any{"failed", "ee"},
			},
		} {
			_, err := b.apply(b.ctx, b.newCall(world.CreateEvent{RunID: runID, Type: c.e, SpecVersion: 3, Data: sample(b, c.e)}), c.script, c.keys, c.args...)
			require.NoError(t, err)
		}
		for status, want := range map[world.RunStatus][]string{world.RunPending: {}, world.RunRunning: {}, world.RunFailed: {}} {
			page, err := b.ListRuns(b.ctx, world.RunQuery{Statuses: []world.RunStatus{status}})
			require.NoError(t, err)
			require.Equal(t, want, runIDs(page.Data), "no list shows a run under a status it does not have")
		}
		_, err := b.GetHookByToken(b.ctx, "tok", false)
		require.Equal(t, world.CodeHookNotFound, world.ErrorCode(err))
		_, err = b.GetHook(b.ctx, x, false)
		require.Equal(t, world.CodeHookNotFound, world.ErrorCode(err))
		hooks, err := b.ListHooks(b.ctx, world.HookQuery{})
		require.NoError(t, err)
		require.Empty(t, hooks.Data)
		require.Equal(t, int64(1), r.Client.Exists(b.ctx, b.keys.claim(hash)).Val())

		b.clock.Add(2 * time.Minute)
		require.Equal(t, 3, b.sweep(), "two runs and a hook")
		b.check(started, ended)
		require.Zero(t, r.Client.Exists(b.ctx, b.keys.claim(hash), b.keys.hook(x), b.keys.of(ended).leftHooks(), b.keys.hooksIndex()).Val())
		require.Zero(t, b.sweep())
	})
}

// BR-08: a crash between the claim of a token and the commit leaves a claim without a hook. The same hook can use it,
// another hook takes it over, and a late commit is refused.
func TestHalfWrittenClaim(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		b := newBundle(t, r)
		runA, runB := b.running(), b.running()
		token := data(t, "token", "tok")
		hash := rediskey.Hash("tok")
		half := func(nonce string) *call {
			c := b.newCall(world.CreateEvent{RunID: runA, Type: world.EventHookCreated, CorrelationID: "hook_a", SpecVersion: 3, Data: token})
			_, err := b.reserve(b.ctx, c, hash, record.Claim{RunID: runA, HookID: "hook_a", Nonce: nonce})
			require.NoError(t, err)
			return c
		}
		commit := func(c *call, nonce string) int {
			o, _ := b.apply(b.ctx, c, b.scripts.hookCreate, []string{c.keys.hooks(), c.keys.hooksOrder(), c.keys.fence()}, nonce, hash)
			return o.code
		}

		half("n1")
		_, err := b.GetHookByToken(b.ctx, "tok", false)
		require.Equal(t, world.CodeHookNotFound, world.ErrorCode(err))
		require.Equal(t, world.EventHookCreated, b.send(runA, world.EventHookCreated, "hook_a", token).Event.Type)
		require.Equal(t, "n1", record.ParseClaim(r.Client.Get(b.ctx, b.keys.claim(hash)).Val()).Nonce, "the claim is used as it is")
		b.check(runA)
		b.send(runA, world.EventRunCancelled, "", nil)

		runA = b.running()
		late := half("n2")
		require.Equal(t, world.EventHookCreated, b.send(runB, world.EventHookCreated, "hook_b", token).Event.Type)
		require.Equal(t, codeClaimRevoked, commit(late, "n2"))
		require.Equal(t, world.EventHookConflict, b.send(runA, world.EventHookCreated, "hook_a", token).Event.Type)
		b.check(runA, runB)
		b.send(runB, world.EventRunCancelled, "", nil)

		// The claim is revoked, but the process that revoked it has crashed, too: the owner claims again with a new
		// nonce.
		runA = b.running()
		half("n3")
		live, err := b.fence(b.ctx, record.Claim{RunID: runA, HookID: "hook_a", Nonce: "n3"})
		require.NoError(t, err)
		require.False(t, live)
		require.Equal(t, world.EventHookCreated, b.send(runA, world.EventHookCreated, "hook_a", token).Event.Type)
		b.check(runA)
		b.send(runA, world.EventRunCancelled, "", nil)

		// The owner is alive, but has another token: this claim belongs to no hook.
		runA = b.running()
		b.send(runA, world.EventHookCreated, "hook_a", data(t, "token", "another"))
		half("n5")
		require.Equal(t, world.EventHookCreated, b.send(b.running(), world.EventHookCreated, "hook_b", token).Event.Type)
		page, err := b.ListHooks(b.ctx, world.HookQuery{})
		require.NoError(t, err)
		require.Len(t, page.Data, 2)
		for _, h := range page.Data {
			b.send(h.RunID, world.EventRunCancelled, "", nil)
		}
		gone := func(keys ...string) {
			t.Helper()
			for _, key := range keys { // one by one: on a cluster they are in different slots
				n, err := r.Client.Exists(b.ctx, key).Result()
				require.NoError(t, err)
				require.Zero(t, n, key)
			}
		}
		// The token is free immediately. The list entry of the refused hook stays for the sweeper, because another call
		// for that hook could be about to commit.
		gone(b.keys.claim(hash))
		page, err = b.ListHooks(b.ctx, world.HookQuery{})
		require.NoError(t, err)
		require.Empty(t, page.Data)
		b.clock.Add(2 * time.Minute)
		require.Zero(t, b.sweep(), "no crash left that")
		gone(b.keys.hooksIndex())

		// No other hook claims it: the sweeper removes the claim.
		runA = b.running()
		half("n4")
		require.Zero(t, b.sweep())
		b.clock.Add(2 * time.Minute)
		require.Equal(t, 1, b.sweep())
		gone(b.keys.claim(hash), b.keys.hook("hook_a"), b.keys.hooksIndex())
		b.check(runA)
	})
}

// Due runs are read in portions, the oldest first.
func TestDueRunsComeInPortions(t *testing.T) {
	t.Parallel()
	b := newBundle(t, redistest.New(t))
	pipe := b.redis.Client.Pipeline()
	for range 2*sweepBatch + 50 {
		b.index.Add(b.ctx, pipe, b.index.Entry(b.ids.Prefixed("wrun_"), "wf", b.now(), world.RunRunning))
	}
	_, err := pipe.Exec(b.ctx)
	require.NoError(t, err)
	b.clock.Add(2 * time.Minute)
	for _, want := range []int{sweepBatch, sweepBatch, 50, 0} {
		before := b.mended.Load()
		due, err := b.DueRuns(b.ctx, b.now()-sweepAge, 0, sweepBatch)
		require.NoError(t, err)
		require.Equal(t, want == sweepBatch, due.More)
		require.Equal(t, int64(want), b.mended.Load()-before)
	}
	require.Empty(t, b.listed(b.index.Keys.All()))
	require.Empty(t, b.listed(b.index.Keys.Watch()))
}

// turn is a Leadership that leads when a test says so.
type turn struct {
	came  chan struct{}
	asked atomic.Int64
}

func (l *turn) Await(ctx context.Context) bool {
	l.asked.Add(1)
	select {
	case <-l.came:
		return true
	case <-ctx.Done():
		return false
	}
}

func (l *turn) Lead(ctx context.Context, portion func(context.Context) error) (bool, error) {
	return true, portion(ctx)
}

// A store sweeps while its process leads, and not before.
func TestOnlyTheLeaderSweeps(t *testing.T) {
	t.Parallel()
	r := redistest.New(t)
	leadership := &turn{came: make(chan struct{})}
	store, err := New(t.Context(), r.Client, Config{Prefix: r.Prefix, SweepInterval: time.Millisecond, Leadership: leadership})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- store.Run(ctx) }()
	require.Eventually(t, func() bool { return leadership.asked.Load() == 1 }, time.Minute, time.Millisecond)
	require.Zero(t, r.Client.Exists(t.Context(), store.keys.sweepState()).Val())
	close(leadership.came)
	require.Eventually(t, func() bool { return r.Client.HExists(t.Context(), store.keys.sweepState(), fieldWalked).Val() }, time.Minute, time.Millisecond)
	cancel()
	require.NoError(t, <-ended)
}

// Run sweeps until its context ends, and continues after a sweep that failed.
func TestRunSweeps(t *testing.T) {
	t.Parallel()
	r := redistest.New(t)
	clock := worldtest.StoppedClock(time.UnixMilli(1_800_000_000_000))
	store, err := New(t.Context(), r.Client, Config{Prefix: r.Prefix, Clock: clock, SweepInterval: time.Millisecond})
	require.NoError(t, err)
	b := &bundle{Store: store, t: t, ctx: t.Context(), redis: r, clock: clock, spec: 7}
	runID := b.running()
	b.send(runID, retained, x, sample(b, retained))
	b.send(runID, world.EventRunCompleted, "", sample(b, world.EventRunCompleted))
	clock.Add(retention)
	require.NoError(t, r.Client.Rename(b.ctx, b.keys.hooksIndex(), b.keys.hooksIndex()+"aside").Err())
	require.NoError(t, r.Client.Set(b.ctx, b.keys.hooksIndex(), "no zset", 0).Err())
	ctx, cancel := context.WithCancel(b.ctx)
	ended := make(chan error, 1)
	go func() { ended <- b.Run(ctx) }()
	require.Eventually(t, func() bool { return r.Client.Exists(b.ctx, b.keys.hook(x)).Val() == 0 }, time.Minute, time.Millisecond)
	require.NoError(t, r.Client.Rename(b.ctx, b.keys.hooksIndex()+"aside", b.keys.hooksIndex()).Err())
	require.Eventually(t, func() bool { return r.Client.Exists(b.ctx, b.keys.hooksIndex(), b.keys.hooksLapse()).Val() == 0 }, time.Minute, time.Millisecond)
	cancel()
	require.NoError(t, <-ended)
}
