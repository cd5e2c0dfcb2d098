package storage

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/redistest"
)

// copied is a copy that was read whole.
type copied struct {
	run    world.Run
	events []world.Event
	steps  []world.Step
	hooks  []world.HookCopy
}

func (b *bundle) readCopy(c *world.RunCopy) copied {
	b.t.Helper()
	out := copied{run: c.Run, events: []world.Event{}, steps: []world.Step{}}
	for part, err := range c.Parts {
		require.NoError(b.t, err)
		switch {
		case part.Event != nil:
			out.events = append(out.events, *part.Event)
		case part.Step != nil:
			out.steps = append(out.steps, *part.Step)
		case part.Hook != nil:
			out.hooks = append(out.hooks, *part.Hook)
		}
	}
	require.Len(b.t, out.events, int(c.Events))
	return out
}

// checkCopies asserts that copies have what the lists of a run have.
func (b *bundle) checkCopies(runIDs ...string) {
	b.t.Helper()
	for len(runIDs) > 0 {
		copies, err := b.CopyRuns(b.ctx, runIDs[:min(len(runIDs), world.MaxGetRuns)])
		require.NoError(b.t, err)
		require.NotEmpty(b.t, copies)
		for i, c := range copies {
			run, err := b.GetRun(b.ctx, runIDs[i], false)
			if world.ErrorCode(err) == world.CodeRunNotFound {
				require.Nil(b.t, c)
				continue
			}
			require.NoError(b.t, err)
			got := b.readCopy(c)
			require.Equal(b.t, run, got.run)
			require.Equal(b.t, b.events(run.RunID), got.events)
			steps := []world.Step{}
			q := world.StepQuery{RunID: run.RunID, Page: world.PageRequest{Limit: world.MaxPage, Order: world.Ascending}}
			for more := true; more; {
				page, err := b.ListSteps(b.ctx, q)
				require.NoError(b.t, err)
				steps = append(steps, page.Data...)
				more, q.Page.Cursor = page.HasMore, page.Cursor
			}
			require.Equal(b.t, steps, got.steps)
			hooks, err := b.ListHooks(b.ctx, world.HookQuery{RunID: run.RunID, Page: world.PageRequest{Limit: world.MaxPage}})
			require.NoError(b.t, err)
			copiedHooks := []world.Hook{}
			for _, hook := range got.hooks {
				if hook.Position != eventless {
					require.Equal(b.t, hook.HookID, got.events[hook.Position].CorrelationID)
				}
				copiedHooks = append(copiedHooks, hook.Hook)
			}
			require.ElementsMatch(b.t, hooks.Data, copiedHooks)
		}
		runIDs = runIDs[len(copies):]
	}
}

// Copies have the same as the lists, whatever the spec and the size of the run, on each kind of Redis.
func TestACopyHasWhatTheListsHave(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		var runIDs []string
		var b *bundle
		for _, spec := range []int{2, 3, 5, 7} {
			b = newBundle(t, r).on(t, spec)
			name := fmt.Sprintf("_%d", spec)
			runIDs = append(runIDs, b.full(name, true), b.full(name+"_open", false), b.long(name, 150, 10), b.long(name+"_wide", 30, 100_000))
		}
		runIDs = append(runIDs, "wrun_unknown")
		b.checkCopies(runIDs...)
	})
}

// long is a run with this many steps, each with an input and a result of some bytes; half of the steps have ended, and some are
// waiting for a retry.
func (b *bundle) long(name string, steps, size int) (runID string) {
	b.t.Helper()
	runID = b.running()
	value := strings.Repeat("v", size)
	for i := range steps {
		stepID := fmt.Sprintf("step_%03d%s", i, name)
		b.send(runID, world.EventStepCreated, stepID, data(b.t, "stepName", "add", "input", value))
		b.send(runID, world.EventStepStarted, stepID, nil)
		switch i % 4 {
		case 0, 1:
			b.send(runID, world.EventStepCompleted, stepID, data(b.t, "result", value))
		case 2:
			b.send(runID, world.EventStepRetrying, stepID, data(b.t, "stepName", "add", "error", "again", "retryAfter", b.clock.Now().Add(time.Hour).UnixMilli()))
		}
	}
	b.send(runID, world.EventHookCreated, "hook_late"+name, data(b.t, "token", "late"+name))
	return runID
}

// A copy is of the moment at which it began, whatever happens to the run while its parts are read.
func TestACopyIsOfOneMoment(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		b := newBundle(t, r).on(t, 7)
		runID := b.long("_m", 60, 10)
		copies, err := b.CopyRuns(b.ctx, []string{runID})
		require.NoError(t, err)
		before := b.readCopy(copies[0])
		b.send(runID, world.EventStepCompleted, "step_003_m", data(t, "result", "late"))
		b.send(runID, world.EventStepStarted, "step_059_m", nil)
		b.send(runID, world.EventStepCreated, "step_100_m", data(t, "stepName", "add", "input", "late"))
		b.send(runID, world.EventHookCreated, "hook_after_m", data(t, "token", "after_m"))
		b.send(runID, world.EventRunCompleted, "", sample(b, world.EventRunCompleted))
		require.Equal(t, world.RunRunning, before.run.Status)
		require.Len(t, before.hooks, 1)
		before.hooks = nil // they have ended with the run
		after := b.readCopy(copies[0])
		after.hooks = nil
		require.Equal(t, before, after)
	})
}

// A run that keeps nothing after its end has no payloads in its copy.
func TestACopyOfARunThatKeepsNothing(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		b := newBundle(t, r).on(t, 7)
		runID := b.send("", world.EventRunCreated, "", b.runDataKeepingNothing()).Run.RunID
		b.send(runID, world.EventRunStarted, "", nil)
		b.send(runID, world.EventStepCreated, "step_n", data(t, "stepName", "add", "input", strings.Repeat("secret", 1000)))
		b.send(runID, world.EventRunCompleted, "", sample(b, world.EventRunCompleted))
		copies, err := b.CopyRuns(b.ctx, []string{runID})
		require.NoError(t, err)
		got := b.readCopy(copies[0])
		require.Nil(t, got.run.Input)
		require.Nil(t, got.steps[0].Input)
		for _, e := range got.events {
			require.Nil(t, e.Data.Get(e.Type.PayloadKey()), "%s", e.Type)
		}
		b.checkCopies(runID)
	})
}

// A run whose log has lost an event is an error of its own and does not affect others.
func TestADamagedRunDoesNotHinderOtherCopies(t *testing.T) {
	t.Parallel()
	b := newBundle(t, redistest.New(t)).on(t, 7)
	damaged, sound, long := b.full("_d", true), b.full("_s", true), b.long("_l", 60, 10)
	for runID, position := range map[string]int{damaged: 2, long: 150} {
		require.NoError(t, b.redis.Client.HDel(b.ctx, b.keys.of(runID).events(), strconv.Itoa(position)).Err())
	}
	copies, err := b.CopyRuns(b.ctx, []string{damaged, sound, long})
	require.NoError(t, err)
	require.Equal(t, sound, b.readCopy(copies[1]).run.RunID)
	for i, runID := range map[int]string{0: damaged, 2: long} {
		var failed error
		for _, err := range copies[i].Parts {
			failed = err
		}
		var copyErr *world.CopyError
		require.ErrorAs(t, failed, &copyErr)
		require.Equal(t, runID, copyErr.RunID)
	}
}

// Copies that would take too much memory are left out and can be requested again.
func TestCopiesAreLimitedInBytes(t *testing.T) {
	t.Parallel()
	b := newBundle(t, redistest.New(t)).on(t, 7)
	large := strings.Repeat("x", copiesBytes/3)
	var runIDs []string
	for range 5 {
		values := b.runData()
		for i := range values {
			if values[i].Key == "input" {
				values[i].Value = data(t, "input", large)[0].Value
			}
		}
		runIDs = append(runIDs, b.send("", world.EventRunCreated, "", values).Run.RunID)
	}
	for left := runIDs; len(left) > 0; {
		copies, err := b.CopyRuns(b.ctx, left)
		require.NoError(t, err)
		require.LessOrEqual(t, len(copies), 2)
		for i, c := range copies {
			require.Equal(t, left[i], c.Run.RunID)
			require.Greater(t, len(c.Run.Input), len(large))
		}
		left = left[len(copies):]
	}
}

// A second call reads the copies again after Redis has forgotten its scripts.
func TestCopiesLoadForgottenScripts(t *testing.T) {
	t.Parallel()
	b := newBundle(t, redistest.New(t)).on(t, 7)
	runID := b.long("_f", 60, 10)
	require.NoError(t, b.redis.Client.ScriptFlush(b.ctx).Err())
	b.checkCopies(runID)
}

func BenchmarkCopyRuns(bench *testing.B) {
	r := redistest.New(bench)
	b := newBundle(bench, r).on(bench, 7)
	var runIDs []string
	for i := range 500 {
		name := "_" + strconv.Itoa(i)
		runID := b.running()
		b.send(runID, world.EventStepCreated, "step_1"+name, data(bench, "stepName", "add", "input", strings.Repeat("x", 300)))
		b.send(runID, world.EventStepStarted, "step_1"+name, nil)
		b.send(runID, world.EventStepCompleted, "step_1"+name, data(bench, "result", strings.Repeat("x", 300)))
		b.send(runID, world.EventRunCompleted, "", sample(b, world.EventRunCompleted))
		runIDs = append(runIDs, runID)
	}
	bench.ResetTimer()
	for bench.Loop() {
		copies, err := b.CopyRuns(b.ctx, runIDs)
		require.NoError(bench, err)
		for _, c := range copies {
			for _, err := range c.Parts {
				require.NoError(bench, err)
			}
		}
	}
	bench.ReportMetric(float64(bench.N*len(runIDs))/bench.Elapsed().Seconds(), "runs/s")
}
