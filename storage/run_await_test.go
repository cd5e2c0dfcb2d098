package storage

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/doorbell"
	"github.com/world-redis/world-redis/internal/redistest"
	"github.com/world-redis/world-redis/internal/worldtest"
)

// patience is how long a test waits for something that should happen immediately: far less than a wait that is never
// notified would take.
const patience = 20 * time.Second

// works runs the background work of the store until the test ends. The audit runs once an hour, so only messages wake
// waiting calls.
func (b *bundle) works(audit time.Duration) *bundle {
	b.t.Helper()
	return b.worksWith(b.newBell(nil), audit)
}

// newBell is a subscription connection of its own.
func (b *bundle) newBell(log *worldtest.Log) *doorbell.Bell {
	if log == nil {
		log = &worldtest.Log{}
	}
	return doorbell.New(b.Store.redis, log.Logger())
}

// worksWith is works with a given subscription connection.
func (b *bundle) worksWith(bell *doorbell.Bell, audit time.Duration) *bundle {
	b.t.Helper()
	b.waiters = b.newWaiters(bell, audit)
	ctx, cancel := context.WithCancel(b.ctx)
	ended := make(chan error, 1)
	go func() { ended <- b.Run(ctx) }()
	b.t.Cleanup(func() {
		cancel()
		require.NoError(b.t, <-ended)
	})
	return b
}

type awaited struct {
	run world.Run
	err error
}

// awaits begins to wait for a run, and returns when the wait is subscribed.
func (b *bundle) awaits(runID string) <-chan awaited {
	b.t.Helper()
	answer := make(chan awaited, 1)
	go func() {
		run, err := b.AwaitRun(b.ctx, runID, world.MaxAwaitRun, true)
		answer <- awaited{run, err}
	}()
	require.Eventually(b.t, func() bool {
		_, subscribed := b.waiters.Waiting(runID)
		return subscribed
	}, patience, time.Millisecond)
	return answer
}

func soon(t testing.TB, answer <-chan awaited) world.Run {
	t.Helper()
	select {
	case a := <-answer:
		require.NoError(t, a.err)
		return a.run
	case <-time.After(patience):
		require.FailNow(t, "nothing woke who awaits the run")
		return world.Run{}
	}
}

// A call that waits at one replica returns as soon as the run ends through another one, however it ends.
func TestAwaitRunReturnsAtTheEnd(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		waits, ends := newBundle(t, r).works(time.Hour), newBundle(t, r)
		legacy := func(b *bundle) string { return b.legacyRun().RunID }
		modern := func(b *bundle) string { return b.running() }
		for name, c := range map[string]struct {
			begin func(*bundle) string
			end   func(*bundle, string) error
			want  world.RunStatus
		}{
			"completed": {modern, func(b *bundle, id string) error {
				_, err := b.try(id, world.EventRunCompleted, "", sample(b, world.EventRunCompleted))
				return err
			}, world.RunCompleted},
			"failed": {modern, func(b *bundle, id string) error {
				_, err := b.try(id, world.EventRunFailed, "", sample(b, world.EventRunFailed))
				return err
			}, world.RunFailed},
			"cancelled": {modern, func(b *bundle, id string) error {
				_, err := b.try(id, world.EventRunCancelled, "", nil)
				return err
			}, world.RunCancelled},
			"cancelled with others": {modern, func(b *bundle, id string) error {
				_, err := b.CancelRuns(b.ctx, world.CancelRuns{RunIDs: []string{id}})
				return err
			}, world.RunCancelled},
			"legacy, updated": {legacy, func(b *bundle, id string) error {
				_, err := b.UpdateLegacyRun(b.ctx, world.UpdateLegacyRun{RunID: id, Status: world.RunFailed})
				return err
			}, world.RunFailed},
			"legacy, cancelled by an event": {legacy, func(b *bundle, id string) error {
				_, err := b.try(id, world.EventRunCancelled, "", nil)
				return err
			}, world.RunCancelled},
		} {
			runID := c.begin(ends)
			answer := waits.awaits(runID)
			require.NoError(t, c.end(ends, runID), name)
			require.Equal(t, c.want, soon(t, answer).Status, name)
		}
	})
}

// Ends and waits that begin at the same time: no wait misses the end.
func TestAwaitRunMissesNoEnd(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		waits, ends := newBundle(t, r).works(time.Hour), newBundle(t, r)
		var all sync.WaitGroup
		answers := make(chan awaited, 100)
		for range cap(answers) {
			runID := ends.newRun()
			all.Go(func() {
				run, err := waits.AwaitRun(waits.ctx, runID, world.MaxAwaitRun, true)
				answers <- awaited{run, err}
			})
			all.Go(func() { _, _ = ends.try(runID, world.EventRunCancelled, "", nil) })
		}
		for range cap(answers) {
			require.Equal(t, world.RunCancelled, soon(t, answers).Status)
		}
		all.Wait()
	})
}

// A notification is lost: the audit finds the end.
func TestAwaitRunFindsAnEndWithoutNotification(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		b := newBundle(t, r).works(20 * time.Millisecond)
		ended, gone := b.running(), b.running()
		first, second := b.awaits(ended), b.awaits(gone)
		require.NoError(t, r.Client.HSet(b.ctx, b.keys.of(ended).run(), "s", "cancelled").Err())
		require.Equal(t, world.RunCancelled, soon(t, first).Status)
		require.NoError(t, r.Client.Del(b.ctx, b.keys.of(gone).run()).Err())
		require.Equal(t, world.CodeRunNotFound, world.ErrorCode((<-second).err))
	})
}

// The subscription connection no longer receives anything: after some ends without a notification it is replaced, and
// notifications arrive again.
func TestADeafConnectionIsReplaced(t *testing.T) {
	t.Parallel()
	r := redistest.New(t)
	b, said := newBundle(t, r), &worldtest.Log{}
	bell := b.newBell(said)
	b.worksWith(bell, 5*time.Millisecond)
	const most = 100
	for i := 0; !strings.Contains(said.String(), "is replaced"); i++ {
		require.Less(t, i, most)
		runID := b.running()
		answer := b.awaits(runID)
		require.NoError(t, r.Client.HSet(b.ctx, b.keys.of(runID).run(), "s", "cancelled").Err())
		soon(t, answer)
	}
	for i := 0; bell.Heard() == 0; i++ { // the first may come while the new connection is being made
		require.Less(t, i, most)
		runID := b.running()
		answer := b.awaits(runID)
		b.send(runID, world.EventRunCancelled, "", nil)
		require.Equal(t, world.RunCancelled, soon(t, answer).Status)
	}
}

// A call that need not wait returns immediately, and a wait that times out returns the run as it is.
func TestAwaitRunThatDoesNotWait(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		b := newBundle(t, r) // its background work does not run
		runID := b.running()
		run, err := b.AwaitRun(b.ctx, runID, 0, false)
		require.NoError(t, err)
		require.Equal(t, world.RunRunning, run.Status)
		require.Equal(t, raw(t, []byte("in")), run.Input)
		run, err = b.AwaitRun(b.ctx, runID, 10*time.Millisecond, true)
		require.NoError(t, err)
		require.Equal(t, world.RunRunning, run.Status)
		require.Nil(t, run.Input)
		b.send(runID, world.EventRunCompleted, "", sample(b, world.EventRunCompleted))
		run, err = b.AwaitRun(b.ctx, runID, world.MaxAwaitRun, false)
		require.NoError(t, err)
		require.Equal(t, world.RunCompleted, run.Status)
		require.NotNil(t, run.Output)
		_, err = b.AwaitRun(b.ctx, "wrun_none", world.MaxAwaitRun, true)
		require.Equal(t, world.CodeRunNotFound, world.ErrorCode(err))
		_, err = b.AwaitRun(b.ctx, "a/b", world.MaxAwaitRun, true)
		require.Equal(t, world.CodeInvalid, world.ErrorCode(err))
		calls, _ := b.waiters.Waiting(runID)
		require.Zero(t, calls)
	})
}

// Many waiting calls for one run share a subscription, which ends with the last of them.
func TestAwaitRunSharesASubscription(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		b := newBundle(t, r).works(time.Hour)
		runID := b.running()
		ctx, cancel := context.WithCancel(b.ctx)
		errs := make(chan error, 50)
		for range cap(errs) {
			go func() {
				_, err := b.AwaitRun(ctx, runID, world.MaxAwaitRun, true)
				errs <- err
			}()
		}
		channel := b.keys.of(runID).ended()
		subscribers := func() int64 {
			if r.Mode == "cluster" {
				return -1 // every node counts its own
			}
			return r.Client.PubSubNumSub(b.ctx, channel).Val()[channel]
		}
		require.Eventually(t, func() bool {
			calls, subscribed := b.waiters.Waiting(runID)
			return subscribed && calls == cap(errs)
		}, patience, time.Millisecond)
		require.Contains(t, []int64{1, -1}, subscribers())
		cancel()
		for range cap(errs) {
			require.ErrorIs(t, <-errs, context.Canceled)
		}
		calls, _ := b.waiters.Waiting(runID)
		require.Zero(t, calls)
		require.Eventually(t, func() bool { return subscribers() < 1 }, patience, time.Millisecond)
	})
}

// Redis is restarted during a wait: the subscription is renewed, and the end wakes the call.
func TestAwaitRunSurvivesARestartOfRedis(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, "--appendonly", "yes", "--appendfsync", "always")
	r := &redistest.Redis{Client: redistest.Client(t, server.Addr), Addr: server.Addr, Prefix: "restart:"}
	b := newBundle(t, r).works(time.Hour)
	runID := b.running()
	answer := b.awaits(runID)
	require.NoError(t, server.Kill())
	require.NoError(t, server.Restart())
	require.Eventually(t, func() bool {
		_, err := b.try(runID, world.EventRunCancelled, "", nil)
		return err == nil
	}, patience, 10*time.Millisecond)
	require.Equal(t, world.RunCancelled, soon(t, answer).Status)
}
