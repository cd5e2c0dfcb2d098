package storage

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/redistest"
	"github.com/world-redis/world-redis/internal/worldtest"
)

// keeping is the bundle with a store that has other settings, on the same Redis.
func (b *bundle) keeping(rules string, change func(*Config)) *bundle {
	b.t.Helper()
	r, err := world.ParseRetention(rules)
	require.NoError(b.t, err)
	c := Config{Prefix: b.redis.Prefix, Clock: b.clock, Retention: r}
	if change != nil {
		change(&c)
	}
	store, err := New(b.ctx, b.redis.Client, c)
	require.NoError(b.t, err)
	b.others = append(b.others, store)
	return &bundle{Store: store, t: b.t, ctx: b.ctx, redis: b.redis, clock: b.clock, spec: b.spec, others: b.others}
}

// dueIn returns after which time from now on a run is due; false if it never is.
func (b *bundle) dueIn(runID string) (time.Duration, bool) {
	b.t.Helper()
	b.quiet()
	score, err := b.redis.Client.ZScore(b.ctx, b.index.Keys.Due(), runID).Result()
	if err != nil {
		return 0, false
	}
	return time.Duration(int64(score)-int64(b.now())) * time.Millisecond, true
}

func (b *bundle) gone(runID string) bool {
	b.t.Helper()
	_, err := b.GetRun(b.ctx, runID, true)
	if err == nil {
		return false
	}
	require.Equal(b.t, world.CodeRunNotFound, world.ErrorCode(err))
	return true
}

// walkAll goes through the lists of runs that have ended once.
func (b *bundle) walkAll() {
	b.t.Helper()
	for fast := true; fast; {
		var err error
		fast, err = b.walkEnded(b.ctx)
		require.NoError(b.t, err)
	}
}

// A run that has ended is removed when its time is over, and not before. Its mark is all that is left of it.
func TestARunLeavesWhenItsTimeIsOver(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		b := newBundle(t, r).on(t, 7).keeping("completed=1h,wf:failed=2h", nil)
		var done []string
		for n := range 3 {
			done = append(done, b.full(fmt.Sprintf("_%d", n), true))
		}
		living := b.full("_living", false)
		failed := b.running()
		b.send(failed, world.EventRunFailed, "", sample(b, world.EventRunFailed))
		cancelled := b.running()
		b.send(cancelled, world.EventRunCancelled, "", nil)
		for _, runID := range done {
			in, ok := b.dueIn(runID)
			require.True(t, ok)
			require.Equal(t, time.Hour, in)
		}
		in, _ := b.dueIn(failed)
		require.Equal(t, 2*time.Hour, in)
		_, ok := b.dueIn(cancelled)
		require.False(t, ok, "it is kept for ever")

		b.clock.Add(time.Hour - time.Millisecond)
		b.sweep()
		require.False(t, b.gone(done[0]))
		b.clock.Add(time.Millisecond)
		b.sweep()
		for _, runID := range done {
			require.True(t, b.gone(runID))
			require.Equal(t, []string{b.keys.of(runID).removed()}, b.naming(runID))
		}
		require.False(t, b.gone(failed))
		b.clock.Add(time.Hour)
		b.sweep()
		require.Equal(t, []string{b.keys.of(failed).removed()}, b.naming(failed))
		require.Empty(t, b.listed(b.index.Keys.Due()))
		require.Empty(t, b.listed(b.keys.removals()))
		require.Equal(t, map[RemovalReason]int64{RemovedByRule: 4, RemovedByItself: 0, RemovedByRequest: 0, RemovedEarly: 0}, b.RunsRemoved())
		b.check(living, cancelled)
	})
}

// However a run ends, it enters the list of due runs.
func TestEveryEndMakesARunDue(t *testing.T) {
	t.Parallel()
	b := newBundle(t, redistest.New(t)).on(t, 7).keeping("completed=1h,failed=1h,cancelled=1h", nil)
	legacy := func(status world.RunStatus) string {
		run, err := b.CreateLegacyRun(b.ctx, world.CreateLegacyRun{DeploymentID: "d", WorkflowName: "wf", Input: raw(t, 1)})
		require.NoError(t, err)
		if status != "" {
			_, err = b.UpdateLegacyRun(b.ctx, world.UpdateLegacyRun{RunID: run.RunID, Status: status})
			require.NoError(t, err)
		}
		return run.RunID
	}
	ended := func(end world.EventType) string {
		runID := b.running()
		b.send(runID, end, "", sample(b, end))
		return runID
	}
	many, old, batch := b.running(), legacy(""), b.running()
	_, err := b.CancelRuns(b.ctx, world.CancelRuns{RunIDs: []string{many, old}})
	require.NoError(t, err)
	oldEvent := legacy("")
	b.send(oldEvent, world.EventRunCancelled, "", nil)
	b.batch(batch, "batch", b.entry(world.EventStepCreated, "step_1"), b.entry(world.EventRunCompleted, ""))
	for name, runID := range map[string]string{
		"completed": ended(world.EventRunCompleted), "failed": ended(world.EventRunFailed), "cancelled": ended(world.EventRunCancelled),
		"cancelled with others": many, "batch": batch,
		"of spec 1": legacy(world.RunCompleted), "of spec 1, failed": legacy(world.RunFailed), "of spec 1, with others": old, "of spec 1, by an event": oldEvent,
	} {
		in, ok := b.dueIn(runID)
		require.True(t, ok, name)
		require.Equal(t, time.Hour, in, name)
	}
	b.clock.Add(time.Hour)
	b.sweep()
	require.Empty(t, b.listed(b.index.Keys.All()))
}

// The process dies between the end of a run and its entry: the run is still in the watch, and gets its entry from there.
func TestAnEndThatIsInterruptedStillMakesARunDue(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		broken := &breaker{}
		broken.whole()
		b := newBundle(t, r).on(t, 7).keeping("completed=1h,cancelled=1h", nil)
		r.Client.AddHook(broken)
		for _, end := range []world.EventType{world.EventRunCompleted, world.EventRunCancelled} {
			for n, survived := int64(0), false; !survived; n++ {
				runID := b.running()
				b.quiet()
				broken.left.Store(n)
				_, err := b.try(runID, end, "", sample(b, end))
				b.quiet()
				survived = broken.left.Load() >= 0 && err == nil
				broken.whole()
				b.clock.Add(2 * time.Minute)
				b.sweep()
				run, err := b.GetRun(b.ctx, runID, true)
				require.NoError(t, err)
				_, ok := b.dueIn(runID)
				require.Equal(t, run.Status.Terminal(), ok, "%s, %d commands", end, n)
			}
		}
	})
}

// A run of v5 may say itself when it is removed. What is no duration counts for nothing, and is warned of once.
func TestARunsOwnRetention(t *testing.T) {
	t.Parallel()
	out := &worldtest.Log{}
	b := newBundle(t, redistest.New(t)).on(t, 7).keeping("completed=1h", func(c *Config) { c.Logger = slog.New(slog.NewTextHandler(out, nil)) })
	for _, c := range []struct {
		value string
		in    time.Duration
		warns bool
	}{{"36h", 36 * time.Hour, false}, {"7d", 7 * 24 * time.Hour, false}, {"0", time.Hour, false}, {"3600", time.Hour, true}, {"1", time.Hour, false}} {
		runID := b.send("", world.EventRunCreated, "", append(b.runData(),
			data(t, "attributes", map[string]string{"$retention": c.value}, "allowReservedAttributes", true)...)).Run.RunID
		b.send(runID, world.EventRunCompleted, "", sample(b, world.EventRunCompleted))
		in, ok := b.dueIn(runID)
		require.True(t, ok, c.value)
		require.Equal(t, c.in, in, c.value)
		line := out.Take()
		if c.warns {
			require.Contains(t, line, "level=WARN")
			require.Contains(t, line, runID)
		} else {
			require.NotContains(t, line, "level=WARN", "%s: once is enough", c.value)
		}
	}
	b.clock.Add(36 * time.Hour)
	b.sweep()
	require.Len(t, b.listed(b.index.Keys.Due()), 1)
	require.Equal(t, int64(1), b.RunsRemoved()[RemovedByItself])
}

// A run that holds a token is removed when it lets go of it.
func TestARunThatHoldsATokenIsDueLater(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		b := newBundle(t, r).on(t, 7).keeping("completed=1m", nil)
		runID := b.running()
		b.send(runID, world.EventHookCreated, "hook_k", data(t, "token", "k", "tokenRetentionUntil", b.clock.Now().Add(time.Hour).UnixMilli()))
		b.send(runID, world.EventRunCompleted, "", sample(b, world.EventRunCompleted))
		b.clock.Add(time.Minute)
		b.sweep()
		require.False(t, b.gone(runID))
		require.Empty(t, b.listed(b.keys.removals()))
		in, ok := b.dueIn(runID)
		require.True(t, ok)
		require.Equal(t, 59*time.Minute, in)
		b.clock.Add(time.Hour)
		b.sweep() // the hook lapses
		b.clock.Add(2 * time.Minute)
		b.sweep()
		require.Equal(t, []string{b.keys.of(runID).removed()}, b.naming(runID))
	})
}

// Runs that ended before there were rules are found, and so are runs whose rule has changed. A longer rule removes nothing early.
func TestRulesThatChange(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		first := newBundle(t, r).on(t, 7)
		runID, failed := first.full("_a", true), first.running()
		first.send(failed, world.EventRunFailed, "", sample(first, world.EventRunFailed))
		first.walkAll()
		_, ok := first.dueIn(runID)
		require.False(t, ok)

		for _, c := range []struct {
			rules string
			in    time.Duration
		}{{"completed=1h", time.Hour}, {"completed=2h", 2 * time.Hour}, {"completed=3h,wf:completed=30m", 30 * time.Minute}} {
			b := first.keeping(c.rules, nil)
			b.walkAll()
			in, ok := b.dueIn(runID)
			require.True(t, ok)
			require.Equal(t, c.in, in)
			_, ok = b.dueIn(failed)
			require.False(t, ok)
		}
		longer := first.keeping("completed=4h", nil) // its sweeper comes before its walk
		first.clock.Add(31 * time.Minute)
		longer.sweep()
		require.False(t, longer.gone(runID))
		in, _ := longer.dueIn(runID)
		require.Equal(t, 4*time.Hour-31*time.Minute, in)

		longer.walkAll()
		require.NoError(t, r.Client.Del(first.ctx, longer.index.Keys.Due()).Err()) // a failover lost it
		longer.dueRuns.walkNext = time.Time{}
		longer.walkAll()
		_, ok = longer.dueIn(runID)
		require.True(t, ok, "the slow walk finds it")
		longer.clock.Add(4 * time.Hour)
		longer.sweep()
		require.True(t, longer.gone(runID))
	})
}

// The process dies before any one of the commands of a removal of many. Each run is then whole, or out of sight, and the sweeper
// removes all of them.
func TestARemovalOfManyThatIsInterruptedIsCompleted(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		broken := &breaker{}
		broken.whole()
		b := newBundle(t, r).on(t, 7).keeping("completed=1h", nil)
		r.Client.AddHook(broken)
		for n, survived := int64(0), false; !survived; n++ {
			runs := []string{b.full(fmt.Sprintf("_a%d", n), true), b.full(fmt.Sprintf("_b%d", n), true)}
			b.clock.Add(time.Hour)
			broken.left.Store(n)
			_, err := b.removeDue(b.ctx)
			b.quiet()
			survived = broken.left.Load() >= 0
			broken.whole()
			require.Equal(t, survived, err == nil, "%d commands: %v", n, err)
			for _, runID := range runs {
				if !b.gone(runID) {
					b.check(runID)
				}
			}
			b.dueRuns.failing.done()
			b.clock.Add(2 * time.Minute)
			b.sweep()
			require.Empty(t, b.listed(b.keys.removals()))
			for _, runID := range runs {
				require.Equal(t, []string{b.keys.of(runID).removed()}, b.naming(runID), "%d commands", n)
			}
		}
	})
}

// A run that cannot be removed does not keep the others from going. It is tried again.
func TestABadRunDoesNotStopTheOthers(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		out := &worldtest.Log{}
		var bad string
		b := newBundle(t, r).on(t, 7).keeping("completed=1h", func(c *Config) {
			c.Logger = slog.New(slog.NewTextHandler(out, nil))
			c.RemoveStreams = func(_ context.Context, runIDs []string) error {
				if slices.Contains(runIDs, bad) {
					return errors.New("no")
				}
				return nil
			}
		})
		var runs []string
		for n := range 5 {
			runs = append(runs, b.full(fmt.Sprintf("_%d", n), true))
		}
		bad = runs[2]
		unreadable := b.full("_x", true)
		key := b.keys.of(unreadable).run()
		require.NoError(t, r.Client.Del(b.ctx, key).Err())
		require.NoError(t, r.Client.Set(b.ctx, key, "damaged", 0).Err())
		b.clock.Add(time.Hour)
		_, err := b.removeDue(b.ctx)
		require.NoError(t, err)
		for _, runID := range runs {
			require.Equal(t, runID == bad, len(b.naming(runID)) > 1, runID)
		}
		lines := out.Take()
		require.Contains(t, lines, bad)
		require.Contains(t, lines, unreadable)
		_, ok := b.dueIn(unreadable)
		require.True(t, ok, "it is looked at again")
		bad = ""
		b.clock.Add(2 * time.Minute)
		_, err = b.sweepRemovals(b.ctx)
		require.NoError(t, err)
		require.Equal(t, []string{b.keys.of(runs[2]).removed()}, b.naming(runs[2]))
	})
}

// With an archive, a run leaves when it is safe there, and not before; one with a retention of its own is not archived.
func TestOnlyWhatIsSafeInTheArchiveIsRemoved(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		out := &worldtest.Log{}
		var asked, safe []string
		var down error
		may := false
		b := newBundle(t, r).on(t, 7).keeping("failed=1m,completed=1d", func(c *Config) {
			c.Logger = slog.New(slog.NewTextHandler(out, nil))
			c.ArchiveAfter = 15 * time.Minute
			c.Archive = func(_ context.Context, runIDs []string) ([]string, error) {
				asked = append(asked, runIDs...)
				return safe, down
			}
			c.MayRemove = func(context.Context) (bool, error) { return may, nil }
		})
		runs := []string{b.full("_a", true), b.full("_b", true)}
		own := b.send("", world.EventRunCreated, "", append(b.runData(),
			data(t, "attributes", map[string]string{"$retention": "15m"}, "allowReservedAttributes", true)...)).Run.RunID
		b.send(own, world.EventRunCompleted, "", sample(b, world.EventRunCompleted))
		in, _ := b.dueIn(runs[0])
		require.Equal(t, 15*time.Minute, in)
		b.clock.Add(15 * time.Minute)
		b.sweep()
		require.Empty(t, asked, "nothing may be removed")
		require.False(t, b.gone(own))

		may, down = true, errors.New("the disk is full")
		b.sweep()
		require.ElementsMatch(t, runs, asked)
		require.True(t, b.gone(own))
		require.False(t, b.gone(runs[0]))
		require.Contains(t, out.Take(), "the archive does not take runs")
		b.clock.Add(time.Minute)
		waits, err := b.DueFor(b.ctx)
		require.NoError(t, err)
		require.Equal(t, time.Minute, waits)

		b.dueRuns.archiving.until = time.Time{}
		down, safe, asked = nil, runs[:1], nil
		b.clock.Add(10 * time.Minute)
		b.sweep()
		require.ElementsMatch(t, runs, asked)
		require.True(t, b.gone(runs[0]))
		require.False(t, b.gone(runs[1]))
		require.Contains(t, out.Take(), "the archive takes runs again")
		safe = runs
		b.clock.Add(2 * time.Minute)
		b.sweep()
		require.True(t, b.gone(runs[1]))
		b.sweep()
		waits, err = b.DueFor(b.ctx)
		require.NoError(t, err)
		require.Zero(t, waits)
	})
}

// A large run goes in portions in the background, with the small ones beside it.
func TestALargeRunIsRemovedInTheBackground(t *testing.T) {
	t.Parallel()
	b := newBundle(t, redistest.New(t)).on(t, 7).keeping("completed=1h", nil)
	large, small := b.running(), b.full("_small", true)
	for n := range 3 {
		var steps []world.CreateEvent
		for i := range 200 {
			steps = append(steps, b.entry(world.EventStepCreated, fmt.Sprintf("step_%d_%d", n, i)))
		}
		b.batch(large, fmt.Sprintf("batch_%d", n), steps...)
	}
	b.send(large, world.EventRunCompleted, "", sample(b, world.EventRunCompleted))
	b.quiet()
	b.clock.Add(time.Hour)
	b.sweep()
	b.quiet()
	for _, runID := range []string{large, small} {
		require.Equal(t, []string{b.keys.of(runID).removed()}, b.naming(runID))
	}
	require.Empty(t, b.listed(b.keys.removals()))
}
