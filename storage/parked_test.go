package storage

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/ids"
	"github.com/world-redis/world-redis/internal/rediskey"
	"github.com/world-redis/world-redis/internal/redistest"
)

// parks creates n runs that each wait for a hook, which has the given data in addition to its token, and marks them as
// parked: one by the usual calls, the others as copies of it. It returns their ids.
func (b *bundle) parks(n int, hook world.Fields) []string {
	b.t.Helper()
	first, token := b.running(), "of_"+b.ids.New().String()
	hookID := b.ids.Prefixed("hook_")
	b.send(first, world.EventHookCreated, hookID, append(hook, data(b.t, "token", token)...))
	idles, err := b.RunsIdle(b.ctx, []string{first})
	require.NoError(b.t, err)
	require.NoError(b.t, b.MarkIdle(b.ctx, first, idles[0].Events))
	b.quiet()
	minter := ids.NewMinter(b.clock)
	runIDs, copies := []string{first}, make([]redistest.Copy, 0, n)
	for len(runIDs) < n {
		at := minter.At(time.UnixMilli(int64(b.now()) + int64(len(runIDs)))).String()
		runIDs = append(runIDs, "wrun_"+at)
		copies = append(copies, redistest.Copy{
			Score: int64(b.now()) + int64(len(runIDs)), Texts: []string{"wrun_" + at, "hook_" + at, "of_" + at, rediskey.Hash("of_" + at)},
		})
	}
	hash := rediskey.Hash(token)
	redistest.Multiply(b.t, b.redis.Client, b.keys.prefix, []string{first, hookID, token, hash}, []string{b.keys.hook(hookID), b.keys.claim(hash)},
		[]redistest.Entry{
			{List: b.index.Keys.All(), Member: first},
			{List: b.index.Keys.ByName("wf"), Member: first},
			{List: b.index.Keys.ByStatus(world.RunRunning), Member: first},
			{List: b.keys.hooksIndex(), Member: first + "/" + hookID},
		}, copies)
	return runIDs
}

// counter counts the commands of a client, except those inside scripts and those that open a connection, because the
// pool may dial at any time.
type counter struct{ n atomic.Int64 }

func (c *counter) add(cmds ...redis.Cmder) {
	for _, cmd := range cmds {
		if cmd.Name() != "hello" && cmd.Name() != "client" {
			c.n.Add(1)
		}
	}
}

func (c *counter) DialHook(next redis.DialHook) redis.DialHook { return next }

func (c *counter) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error { c.add(cmd); return next(ctx, cmd) }
}

func (c *counter) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error { c.add(cmds...); return next(ctx, cmds) }
}

// count returns how many commands a function makes.
func (b *bundle) count(work func()) int64 {
	b.t.Helper()
	c := &counter{}
	b.redis.Client.AddHook(c)
	work()
	return c.n.Swap(-1 << 60)
}

// Among thousands of parked runs, a token whose retention is over is free at the next sweep. The sweep reads by time,
// so it costs the same as in an empty store.
func TestALapseIsFoundAmongParkedRuns(t *testing.T) {
	t.Parallel()
	var costs []int64
	for _, n := range []int{1, 4000} {
		b := newBundle(t, redistest.New(t)).on(t, 7)
		parked := b.parks(n, nil)
		b.clock.Add(2 * time.Minute)
		require.Zero(t, b.sweep())
		runID := b.running()
		b.send(runID, retained, x, sample(b, retained))
		b.send(runID, world.EventRunCompleted, "", sample(b, world.EventRunCompleted))
		b.clock.Add(retention - time.Millisecond)
		_, err := b.Sweep(b.ctx)
		require.NoError(t, err)
		require.NotZero(t, b.redis.Client.Exists(b.ctx, b.keys.hook(x)).Val())
		b.clock.Add(time.Millisecond)
		costs = append(costs, b.count(func() {
			more, err := b.Sweep(b.ctx)
			require.NoError(t, err)
			require.False(t, more)
		}))
		require.Zero(t, b.redis.Client.Exists(b.ctx, b.keys.hook(x), b.keys.of(runID).hooks(), b.keys.hooksLapse()).Val())
		require.Equal(t, int64(n), b.redis.Client.ZCard(b.ctx, b.keys.hooksIndex()).Val())
		hook, err := b.GetHook(b.ctx, "hook_"+parked[n-1][len("wrun_"):], false)
		require.True(t, n == 1 || err == nil && hook.RunID == parked[n-1], "the copies are what they should be: %v", err)
		require.Zero(t, b.mended.Load())
	}
	require.Equal(t, costs[0], costs[1])
	require.Less(t, costs[0], int64(20))
}

// Hooks that lapse are released in batches, each once, and other work runs in between.
func TestLapsesComeInBatches(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		b := newBundle(t, r).on(t, 7)
		const n = lapseBatch + 20
		until := b.clock.Now().Add(retention).UnixMilli()
		runID := b.running()
		for range n {
			id := b.ids.New().String()
			b.send(runID, world.EventHookCreated, "hook_"+id, data(t, "token", id, "tokenRetentionUntil", until))
		}
		alive := b.running()
		b.send(alive, world.EventHookCreated, "hook_1", data(t, "token", "t", "tokenRetentionUntil", until))
		b.send(runID, world.EventRunCompleted, "", sample(b, world.EventRunCompleted))
		b.cleanups.wait()
		b.clock.Add(retention)
		for _, want := range []bool{true, false} {
			more, err := b.letLapse(b.ctx)
			require.NoError(t, err)
			require.Equal(t, want, more)
		}
		require.Equal(t, []string{alive + "/hook_1"}, b.listed(b.keys.hooksIndex()), "it lives as long as its run")
		require.Len(t, b.keysLike(b.keys.prefix+"hooks:by_token:*"), 1)
		b.quiet()
		b.clock.Add(time.Hour)
		require.Zero(t, b.sweep())
		require.Empty(t, b.listed(b.keys.hooksLapse()), "its run will see to it")
		b.send(alive, world.EventRunCompleted, "", sample(b, world.EventRunCompleted))
		require.Empty(t, b.listed(b.keys.hooksIndex()))
	})
}

// BenchmarkLapse reports how many hooks are released per second when their retention is over, each of another run.
func BenchmarkLapse(tb *testing.B) {
	b := newBundle(tb, redistest.New(tb))
	b.spec = 7
	hooks := 0
	for tb.Loop() {
		tb.StopTimer()
		const n = 20_000
		until := b.clock.Now().Add(retention)
		runIDs := b.parks(n, data(tb, "tokenRetentionUntil", until.UnixMilli()))
		pipe := b.redis.Client.Pipeline()
		for _, runID := range runIDs {
			pipe.HSet(b.ctx, b.keys.of(runID).run(), "s", "completed")
			pipe.ZAdd(b.ctx, b.keys.hooksLapse(), zOf(float64(until.UnixMilli()), runID+"/hook_"+runID[len("wrun_"):]))
			if pipe.Len() > 10_000 {
				_, err := pipe.Exec(b.ctx)
				require.NoError(tb, err)
			}
		}
		_, err := pipe.Exec(b.ctx)
		require.NoError(tb, err)
		b.clock.Add(retention)
		tb.StartTimer()
		for more := true; more; {
			more, err = b.letLapse(b.ctx)
			require.NoError(tb, err)
		}
		hooks += n
		require.Less(tb, b.redis.Client.ZCard(b.ctx, b.keys.hooksIndex()).Val(), int64(10))
	}
	tb.ReportMetric(float64(hooks)/tb.Elapsed().Seconds(), "hooks/s")
}
