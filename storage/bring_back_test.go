package storage

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/luascript"
	"github.com/world-redis/world-redis/internal/redistest"
)

// The end of a run is acknowledged, and a failover loses it before the work that follows the end is done. That work
// then runs on the new master, where the run has not ended: the run is in the lists of unfinished runs and in the
// watch, and its hook keeps its token.
func TestARunWhoseEndWasTakenBackGoesOn(t *testing.T) {
	t.Parallel()
	ends := map[string]func(b *bundle, runID string){
		"completed": func(b *bundle, runID string) {
			b.send(runID, world.EventRunCompleted, "", sample(b, world.EventRunCompleted))
		},
		"cancelled with others": func(b *bundle, runID string) {
			_, err := b.CancelRuns(b.ctx, world.CancelRuns{RunIDs: []string{runID}, RequestID: "r"})
			require.NoError(b.t, err)
		},
	}
	for name, end := range ends {
		for _, at := range []string{"release", "departure"} {
			t.Run(name+", at the "+at, func(t *testing.T) {
				t.Parallel()
				server := redistest.Start(t)
				r := &redistest.Redis{Client: redistest.Client(t, server.Addr), Addr: server.Addr, Prefix: "workflow:"}
				b := newBundle(t, r).on(t, 7)
				back := &rollback{admin: redistest.Client(t, server.Addr), release: b.scripts.valueRelease, at: at}
				b.dials = back.dials.Load
				runID := b.running()
				b.send(runID, world.EventHookCreated, x, data(t, "token", "t"))
				b.quiet()
				back.save(t)
				b.redis.Client.AddHook(back)
				back.armed.Store(true)

				end(b, runID)
				b.quiet()

				require.False(t, back.armed.Load(), "it was taken back")
				run, err := b.GetRun(b.ctx, runID, true)
				require.NoError(t, err)
				require.Equal(t, world.RunRunning, run.Status)
				require.Equal(t, []string{runID}, b.listed(b.index.Keys.ByStatus(world.RunRunning)))
				require.Equal(t, []string{runID}, b.listed(b.index.Keys.Watch()))
				hook, err := b.GetHookByToken(b.ctx, "t", true)
				require.NoError(t, err)
				require.Equal(t, runID, hook.RunID)
				back.dials.Store(0)
				b.send(runID, world.EventRunCompleted, "", sample(b, world.EventRunCompleted))
				b.quiet()
				require.Empty(t, b.listed(b.index.Keys.Watch()))
			})
		}
	}
}

// rollback is a failover to a replica that has the state of the last save. It happens just before the command that a
// test names.
type rollback struct {
	admin   *redis.Client
	release *luascript.Script
	at      string
	saved   map[string]string
	dials   atomic.Uint64
	armed   atomic.Bool
}

func (r *rollback) save(t *testing.T) {
	t.Helper()
	r.saved = map[string]string{}
	for _, key := range r.admin.Keys(t.Context(), "*").Val() {
		r.saved[key] = r.admin.Dump(t.Context(), key).Val()
	}
}

func (r *rollback) over(ctx context.Context) error {
	r.dials.Add(1)
	_, err := r.admin.TxPipelined(ctx, func(p redis.Pipeliner) error {
		p.FlushAll(ctx)
		for key, value := range r.saved {
			p.Restore(ctx, key, time.Duration(0), value)
		}
		return nil
	})
	return err
}

// waitsFor reports whether the failover happens before this command.
func (r *rollback) waitsFor(cmd redis.Cmder) bool {
	if r.at == "release" {
		return cmd.Name() == "evalsha" && cmd.Args()[1] == redis.NewScript(r.release.Sent).Hash()
	}
	return cmd.Name() == "zrem"
}

func (r *rollback) DialHook(next redis.DialHook) redis.DialHook { return next }

func (r *rollback) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if r.waitsFor(cmd) && r.armed.Swap(false) {
			if err := r.over(ctx); err != nil {
				return err
			}
		}
		return next(ctx, cmd)
	}
}

func (r *rollback) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if slices.ContainsFunc(cmds, r.waitsFor) && r.armed.Swap(false) {
			if err := r.over(ctx); err != nil {
				return err
			}
		}
		return next(ctx, cmds)
	}
}
