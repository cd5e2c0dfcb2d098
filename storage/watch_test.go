package storage

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/redistest"
)

// due returns the runs that are due to be looked at, and their states.
func (b *bundle) due() []world.RunLook {
	b.t.Helper()
	due, err := b.DueRuns(b.ctx, b.now()-sweepAge, 0, sweepBatch)
	require.NoError(b.t, err)
	return due.Live
}

// park removes runs from the watch, as recovery does with those that wait only for their hooks.
func (b *bundle) park(looks ...world.RunLook) {
	b.t.Helper()
	next := make([]world.NextLook, len(looks))
	for i, look := range looks {
		next[i] = world.NextLook{Look: look}
	}
	require.NoError(b.t, b.LookNext(b.ctx, next))
}

// A run is in the watch from its creation to its end, except while it is parked; each event from outside adds it again.
func TestWhatEntersARunIntoTheWatch(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		b := newBundle(t, r).on(t, 7)
		watched := func(want ...string) {
			t.Helper()
			b.quiet()
			require.ElementsMatch(t, want, b.listed(b.index.Keys.Watch()))
		}
		runID := b.running()
		b.send(runID, world.EventHookCreated, "hook_1", data(t, "token", "one"))
		b.send(runID, world.EventHookCreated, "hook_2", data(t, "token", "two"))
		watched(runID)
		parked := func(outside func()) {
			t.Helper()
			b.clock.Add(2 * time.Minute)
			looks := b.due()
			require.Len(t, looks, 1)
			require.Equal(t, []any{runID, true}, []any{looks[0].RunID, looks[0].Idle.Hooks})
			b.park(looks...)
			watched()
			outside()
			watched(runID)
		}
		parked(func() { b.send(runID, world.EventHookReceived, "hook_1", sample(b, world.EventHookReceived)) })
		parked(func() { b.send(runID, world.EventHookDisposed, "hook_2", nil) })
		b.clock.Add(2 * time.Minute)
		b.park(b.due()...)
		b.send(runID, world.EventRunCancelled, "", nil)
		watched()
		started := b.ids.Prefixed("wrun_")
		b.send(started, world.EventRunStarted, "", b.runData()) // there was no run_created
		watched(started)
		b.send(started, world.EventRunCompleted, "", sample(b, world.EventRunCompleted))
		watched()
	})
}

// A payload that comes between the look at a run and the decision to park it is not lost, and neither is one whose
// handling is postponed.
func TestARunThatIsEnteredAnewKeepsItsPlace(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		b := newBundle(t, r).on(t, 7)
		runID, other := b.running(), b.running()
		b.send(runID, world.EventHookCreated, "hook_1", data(t, "token", "one"))
		b.clock.Add(2 * time.Minute)
		for _, since := range []world.Millis{0, b.now() + 1_000_000} {
			looks := b.due()
			require.Len(t, looks, 2)
			b.send(runID, world.EventHookReceived, "hook_1", sample(b, world.EventHookReceived))
			entered := b.now()
			b.clock.Add(time.Second)
			require.NoError(t, b.LookNext(b.ctx, []world.NextLook{{Look: looks[0], Since: since}, {Look: looks[1], Since: since}}))
			score, err := r.Client.ZScore(b.ctx, b.index.Keys.Watch(), runID).Result()
			require.NoError(t, err)
			require.Equal(t, entered, world.Millis(score))
			if since == 0 {
				require.Equal(t, []string{runID}, b.listed(b.index.Keys.Watch()))
			} else {
				require.Equal(t, since, world.Millis(r.Client.ZScore(b.ctx, b.index.Keys.Watch(), other).Val()))
			}
			pipe := r.Client.Pipeline()
			b.index.Watch(b.ctx, pipe, other)
			_, err = pipe.Exec(b.ctx)
			require.NoError(t, err)
			b.clock.Add(2 * time.Minute)
		}
	})
}

// If a run is looked at while it ends, or a hook of it does, the work is left to that call for a minute.
func TestWhatIsBeingDoneIsLeftToItsCall(t *testing.T) {
	t.Parallel()
	b := newBundle(t, redistest.New(t)).on(t, 7)
	ends, disposes := b.running(), b.running()
	b.send(ends, world.EventHookCreated, "hook_1", data(t, "token", "one"))
	b.send(disposes, world.EventHookCreated, "hook_2", data(t, "token", "two"))
	b.clock.Add(10 * time.Minute)
	b.quiet()
	// Only the scripts have run, the rest of the calls has not.
	for _, c := range []struct {
		runID, id string
		event     world.EventType
		script    script
		keys      func(k runKeys) []string
		args      []any
	}{
		{ends, "", world.EventRunCompleted, b.scripts.runEnd, func(k runKeys) []string { return []string{k.hooks(), k.hooksOrder(), k.leftHooks(), k.ended()} }, []any{"completed", "oe"}},
		{disposes, "hook_2", world.EventHookDisposed, b.scripts.hookDispose, func(k runKeys) []string { return []string{k.hooks(), k.hooksOrder(), k.leftHooks()} }, nil},
	} {
		req := world.CreateEvent{RunID: c.runID, Type: c.event, CorrelationID: c.id, SpecVersion: 7, Data: sample(b, c.event)}
		_, err := b.apply(b.ctx, b.newCall(req), c.script, c.keys(b.keys.of(c.runID)), c.args...)
		require.NoError(t, err)
	}
	due, err := b.DueRuns(b.ctx, b.now()-sweepAge, 0, 10)
	require.NoError(t, err)
	require.Equal(t, 1, due.Left)
	require.Len(t, due.Live, 1)
	require.Zero(t, b.mended.Load())
	require.NotEmpty(t, b.keysLike(b.keys.prefix+"hook_left:*"))
	b.clock.Add(time.Minute)
	due, err = b.DueRuns(b.ctx, b.now()-sweepAge, 0, 10)
	require.NoError(t, err)
	require.Zero(t, due.Left)
	require.Equal(t, int64(2), b.mended.Load())
	require.Empty(t, b.keysLike(b.keys.prefix+"hook_left:*"))
	require.Equal(t, []string{disposes}, b.listed(b.index.Keys.Watch()))
}

// An entry that cannot be mended now stays, and does not delay the entries after it.
func TestWhatCannotBeMendedIsPassedOver(t *testing.T) {
	t.Parallel()
	b, p := purgingBundle(t, redistest.New(t))
	p.fails = true
	for range 3 {
		_, err := b.try(b.keepsNothing(), world.EventRunCancelled, "", nil)
		require.Equal(t, world.CodeUnavailable, world.ErrorCode(err))
	}
	b.clock.Add(time.Second)
	live := b.running()
	b.quiet()
	b.clock.Add(2 * time.Minute)
	var seen []string
	for skip, more := 0, true; more; {
		due, err := b.DueRuns(b.ctx, b.now()-sweepAge, skip, 2)
		require.NoError(t, err)
		for _, look := range due.Live {
			seen = append(seen, look.RunID)
			require.NoError(t, b.LookNext(b.ctx, []world.NextLook{{Look: look, Since: b.now()}}))
		}
		skip, more = skip+due.Left, due.More
	}
	require.Equal(t, []string{live}, seen)
	require.Zero(t, b.mended.Load())
	p.fails = false
	require.Equal(t, 3, b.sweep())
	require.Len(t, p.runs, 3)
}

// A build without the watch has written all kinds of runs, some only in part before it crashed. The walk adds those
// that have to be looked at, in portions, continues where it was after a restart, and leaves out parked runs. The slow
// walk finds what such a build writes later, beside this one.
func TestTheWalkFindsWhatAnEarlierBuildWrote(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		b, broken, p, _ := crashBundle(t, r)
		forgetNew := func() { // what the earlier build does not know of
			b.quiet()
			for _, key := range []string{b.index.Keys.Watch(), b.keys.hooksLapse()} {
				require.NoError(t, r.Client.Del(b.ctx, key).Err())
			}
		}
		write := func(name string) (parked, active string) {
			for n := int64(0); n < 90; n += 7 {
				for kind, live := range lives {
					broken.left.Store(n)
					live(b, name+kind[:2]+strconv.FormatInt(n, 10))
					b.quiet()
				}
			}
			broken.whole()
			b.clock.Add(time.Second)
			parked, active = b.running(), b.running()
			b.send(parked, world.EventHookCreated, "hook_p"+name, data(t, "token", "p"+name))
			b.send(active, world.EventHookCreated, "hook_q"+name, data(t, "token", "q"+name))
			for _, runID := range []string{parked, active} {
				idles, err := b.RunsIdle(b.ctx, []string{runID})
				require.NoError(t, err)
				require.NoError(t, b.MarkIdle(b.ctx, runID, idles[0].Events))
			}
			b.send(active, world.EventHookReceived, "hook_q"+name, sample(b, world.EventHookReceived))
			forgetNew()
			return parked, active
		}
		verify := func(parked, active string) {
			t.Helper()
			require.NotContains(t, b.listed(b.index.Keys.Watch()), parked)
			require.Contains(t, b.listed(b.index.Keys.Watch()), active)
			b.clock.Add(2 * time.Minute)
			require.Positive(t, b.sweep())
			require.Empty(t, b.crashed(p))
			require.Contains(t, b.listed(b.index.Keys.Watch()), active, "recovery looks at it")
		}

		parked, active := write("a")
		b.clock.Add(2 * time.Minute)
		portions := 0
		for first := true; first; portions++ {
			store, err := New(b.ctx, r.Client, Config{Prefix: r.Prefix, Clock: b.clock}) // a restart
			require.NoError(t, err)
			first, err = store.walk(b.ctx, 3)
			require.NoError(t, err)
		}
		require.Greater(t, portions, 5)
		verify(parked, active)
		b.clock.Add(2 * retention)
		b.sweep()
		require.Zero(t, b.sweep())
		require.Empty(t, b.listed(b.keys.hooksLapse()))
		b.checkHookList()

		parked, active = write("b")
		b.clock.Add(2 * time.Minute)
		var pace walkPace
		for range 10 {
			_, err := b.sweepOnce(b.ctx, &pace)
			require.NoError(t, err)
			b.clock.Add(time.Minute)
		}
		verify(parked, active)
	})
}

// Among thousands of parked runs the sweeper makes few calls: a look at the times, and one small read per second for
// the slow walk.
func TestTheSweeperIsIdleAmongParkedRuns(t *testing.T) {
	t.Parallel()
	b := newBundle(t, redistest.New(t)).on(t, 7)
	b.parks(3000, nil)
	b.clock.Add(2 * time.Minute)
	require.Zero(t, b.sweep())
	b.park(b.dueAfter(2 * time.Minute)...)
	require.Empty(t, b.listed(b.index.Keys.Watch()))
	var pace walkPace
	for !pace.over {
		_, err := b.sweepOnce(b.ctx, &pace)
		require.NoError(t, err)
	}
	const minutes = 10
	commands := b.count(func() {
		for end := b.clock.Now().Add(minutes * time.Minute); b.clock.Now().Before(end); {
			wait, err := b.sweepOnce(b.ctx, &pace)
			require.NoError(t, err)
			b.clock.Add(wait)
		}
	})
	require.Less(t, commands, int64(minutes*85))
	require.Empty(t, b.listed(b.index.Keys.Watch()), "no parked run came back")
}

// dueAfter is due after some more time.
func (b *bundle) dueAfter(d time.Duration) []world.RunLook {
	b.t.Helper()
	b.clock.Add(d)
	return b.due()
}
