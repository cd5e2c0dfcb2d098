package storage

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/redisconn"
	"github.com/world-redis/world-redis/internal/redistest"
	"github.com/world-redis/world-redis/internal/worldtest"
	"github.com/world-redis/world-redis/storage/internal/record"
	"github.com/world-redis/world-redis/storage/internal/runindex"
)

const crashLine = "mended what a crash left behind"

// breaker is a Redis hook that lets a number of commands through and then none, as if the process had died, possibly
// within a pipeline.
type breaker struct{ left atomic.Int64 }

var errDead = errors.New("the process is dead")

func (b *breaker) whole() { b.left.Store(1 << 40) }

// take returns how many of n commands are still sent.
func (b *breaker) take(n int) int {
	return int(max(0, min(int64(n), b.left.Add(-int64(n))+int64(n))))
}

func (b *breaker) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (b *breaker) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if b.take(1) == 0 {
			cmd.SetErr(errDead)
			return errDead
		}
		return next(ctx, cmd)
	}
}

func (b *breaker) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		n := b.take(len(cmds))
		if n == len(cmds) {
			return next(ctx, cmds)
		}
		if n > 0 {
			_ = next(ctx, cmds[:n])
		}
		for _, cmd := range cmds {
			cmd.SetErr(errDead)
		}
		return errDead
	}
}

// lives are whole runs with everything that creates entries outside their slots. Each call may fail.
var lives = map[string]func(b *bundle, name string){
	"hooks": func(b *bundle, name string) {
		runID := b.makes(world.EventRunCreated, "", b.runData())
		b.does(runID, world.EventRunStarted, "", nil)
		b.does(runID, world.EventHookCreated, "hook_a"+name, data(b.t, "token", "a"+name))
		b.does(runID, world.EventHookReceived, "hook_a"+name, sample(b, world.EventHookReceived))
		b.does(runID, world.EventHookDisposed, "hook_a"+name, nil)
		b.does(runID, world.EventHookCreated, "hook_b"+name, data(b.t, "token", "b"+name, "tokenRetentionUntil", b.clock.Now().Add(retention).UnixMilli()))
		b.does(runID, world.EventHookCreated, "hook_c"+name, data(b.t, "token", "c"+name))
		b.does(runID, world.EventRunCompleted, "", sample(b, world.EventRunCompleted))
	},
	"conflict": func(b *bundle, name string) {
		first, second := b.makes(world.EventRunCreated, "", b.runData()), b.ids.Prefixed("wrun_")
		b.does(second, world.EventRunStarted, "", nil) // before its run
		b.does(second, world.EventRunStarted, "", b.runData())
		b.does(second, world.EventRunStarted, "", b.runData())
		b.does(first, world.EventHookCreated, "hook_a"+name, data(b.t, "token", "t"+name))
		b.does(second, world.EventHookCreated, "hook_b"+name, data(b.t, "token", "t"+name))
		b.does(second, world.EventRunFailed, "", sample(b, world.EventRunFailed))
		b.does(second, world.EventHookCreated, "hook_c"+name, data(b.t, "token", "u"+name)) // too late
		b.does(second, world.EventRunCompleted, "", sample(b, world.EventRunCompleted))     // too late
		b.does(first, world.EventRunCancelled, "", nil)
		b.does(b.ids.Prefixed("wrun_"), world.EventRunStarted, "", nil) // for a run that never was
	},
	"cancelled while it is parked": func(b *bundle, name string) {
		runID := b.makes(world.EventRunCreated, "", b.runDataKeepingNothing())
		b.does(runID, world.EventRunStarted, "", nil)
		b.does(runID, world.EventHookCreated, "hook_a"+name, data(b.t, "token", "t"+name))
		b.forgetWatch(runID)
		_, _ = b.CancelRuns(b.ctx, world.CancelRuns{RunIDs: []string{runID}})
	},
	"legacy": func(b *bundle, name string) {
		run, err := b.CreateLegacyRun(b.ctx, world.CreateLegacyRun{DeploymentID: "d", WorkflowName: "wf", Input: raw(b.t, 1)})
		if err != nil {
			return
		}
		update := func(status world.RunStatus) {
			_, _ = b.UpdateLegacyRun(b.ctx, world.UpdateLegacyRun{RunID: run.RunID, Status: status})
		}
		update(world.RunRunning)
		for _, hookID := range []string{"hook_a" + name, "hook_b" + name} {
			_, _ = b.CreateLegacyHook(b.ctx, world.CreateLegacyHook{RunID: run.RunID, HookID: hookID, Token: hookID})
		}
		b.forgetWatch(run.RunID)
		_, _ = b.DisposeLegacyHook(b.ctx, world.DisposeLegacyHook{HookID: "hook_a" + name})
		update(world.RunPaused)
		b.forgetWatch(run.RunID)
		update(world.RunRunning)
		update(world.RunCompleted)
	},
}

// forgetWatch removes a run from the watch, as recovery does with a parked run.
func (b *bundle) forgetWatch(runID string) {
	_ = b.Store.redis.ZRem(b.ctx, b.index.Keys.Watch(), runID).Err()
}

// makes is like does, for an event that creates a run. It returns the run's id.
func (b *bundle) makes(eventType world.EventType, id string, data world.Fields) string {
	runID := b.ids.Prefixed("wrun_")
	b.does(runID, eventType, id, data)
	return runID
}

// does makes a call that may be refused or interrupted.
func (b *bundle) does(runID string, eventType world.EventType, id string, data world.Fields) {
	_, _ = b.try(runID, eventType, id, data)
}

// crashed lists the entries that only a crash leaves.
func (b *bundle) crashed(p *purges) []string {
	b.t.Helper()
	var out []string
	status := func(runID string) world.RunStatus {
		return world.RunStatus(b.redis.Client.HGet(b.ctx, b.keys.of(runID).run(), "s").Val())
	}
	for _, runID := range b.listed(b.index.Keys.All()) {
		if status(runID) == "" {
			out = append(out, "listed and never made: "+runID)
		}
	}
	for _, listed := range runindex.Living {
		for _, runID := range b.listed(b.index.Keys.ByStatus(listed)) {
			is := status(runID)
			if is != "" && is != listed && (is != world.RunPending || listed != world.RunRunning) {
				out = append(out, fmt.Sprintf("%s in the list of %s ones: %s", is, listed, runID))
			}
		}
	}
	out = append(out, b.keysLike(b.keys.prefix+"hook_left:*")...)
	for _, key := range b.keysLike(b.keys.prefix + "hooks:by_token:*") {
		held := record.ParseClaim(b.redis.Client.Get(b.ctx, key).Val())
		found, err := b.readHook(b.ctx, held, true, false)
		require.NoError(b.t, err)
		if found == nil {
			out = append(out, "claim "+held.String())
		}
	}
	for _, key := range b.keysLike(b.keys.prefix + "run:*") {
		runID := strings.TrimSuffix(strings.TrimPrefix(key, b.keys.prefix+"run:{"), "}")
		if b.redis.Client.HExists(b.ctx, key, "x").Val() && !slices.Contains(p.runs, runID) {
			out = append(out, "streams of "+runID)
		}
	}
	return out
}

// crashBundle is a store that can be broken, and that records its log.
func crashBundle(t *testing.T, r *redistest.Redis) (*bundle, *breaker, *purges, *worldtest.Log) {
	t.Helper()
	broken, p, out := &breaker{}, &purges{}, &worldtest.Log{}
	broken.whole()
	b := newBundle(t, r).on(t, 7)
	r.Client.AddHook(broken)
	store, err := New(t.Context(), r.Client, Config{
		Prefix: r.Prefix, Clock: b.clock, Logger: slog.New(slog.NewTextHandler(out, nil)),
		PurgeStreams: func(ctx context.Context, runID string) error {
			if broken.take(1) == 0 {
				return errDead
			}
			return p.purge(ctx, runID)
		},
	})
	require.NoError(t, err)
	b.Store = store
	return b, broken, p, out
}

// The process dies before each of the commands of a life, also within a pipeline. A minute later everything that it
// left is mended, and the log says so; if it left nothing, the log is empty.
func TestWhateverACrashLeavesIsMendedAndSaid(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		b, broken, p, out := crashBundle(t, r)
		seen := map[string]bool{}
		for name, live := range lives {
			for n := int64(0); ; n++ {
				broken.left.Store(n)
				live(b, fmt.Sprintf("%d_%d", len(name), n))
				b.quiet()
				survived := broken.left.Load() >= 0
				broken.whole()
				left := b.crashed(p)
				for _, what := range left {
					seen[strings.SplitAfter(what, " ")[0]] = true
				}
				out.Take()
				b.clock.Add(2 * time.Minute)
				mended := b.sweep()
				require.Equal(t, len(left) > 0, mended > 0, "%s, %d commands: %q", name, n, left)
				require.Equal(t, len(left) > 0, strings.Contains(out.Take(), crashLine), "%s, %d commands: %q", name, n, left)
				require.Empty(t, b.crashed(p), "%s, %d commands", name, n)
				require.Zero(t, b.sweep())
				b.checkClaims()
				b.clock.Add(2 * retention)
				require.Zero(t, b.sweep())
				require.Empty(t, b.listed(b.keys.hooksLapse()))
				b.checkHookList()
				for _, key := range b.keysLike(b.keys.prefix + "*") {
					require.NoError(t, r.Client.Del(b.ctx, key).Err())
				}
				if survived {
					require.Empty(t, left, name)
					break
				}
			}
		}
		require.Greater(t, len(seen), 5, "%v", seen)
	})
}

// checkHookList asserts that the list of all hooks has live ones only.
func (b *bundle) checkHookList() {
	b.t.Helper()
	for _, member := range b.listed(b.keys.hooksIndex()) {
		runID, hookID, _ := strings.Cut(member, "/")
		found, err := b.readHook(b.ctx, record.Claim{RunID: runID, HookID: hookID}, true, false)
		require.NoError(b.t, err)
		require.NotNil(b.t, found, "an entry without a hook: %s", member)
	}
}

// Hundreds of ordinary lives, with conflicts, refusals, cancellations and retentions, while a sweeper runs: without a
// crash, nothing is logged as mended.
func TestWithoutACrashNothingIsMended(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		b, _, _, out := crashBundle(t, r)
		rounds := 25
		if r.Mode == redisconn.Standalone {
			rounds = 100
		}
		for n := range rounds {
			for _, name := range []string{"hooks", "conflict", "cancelled while it is parked", "legacy"} {
				lives[name](b, fmt.Sprintf("%d_%d", len(name), n))
				require.Zero(t, b.sweep(), name)
				b.clock.Add(20 * time.Second)
			}
		}
		b.clock.Add(2 * retention)
		require.Zero(t, b.sweep())
		require.NotContains(t, out.Take(), crashLine)
		require.Empty(t, b.listed(b.keys.hooksLapse()))
		require.Empty(t, b.listed(b.keys.hooksIndex()))
		require.Empty(t, b.listed(b.index.Keys.Watch()), "all have ended")
	})
}
