package storage

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/redistest"
	"github.com/world-redis/world-redis/storage/internal/record"
)

// Redis refuses each command of each script in turn: readers see either the state before the call or all of the call,
// and the repeated call has the right result: each event once, and the entities as in the log.
func TestACommandThatIsRefusedBreaksNoRun(t *testing.T) {
	t.Parallel()
	set, err := loadScripts()
	require.NoError(t, err)
	texts := map[string]string{}
	for _, script := range set.all() {
		texts[script.Name] = script.Sent
	}
	r := redistest.NewRefused(t, texts)
	b := newBundle(t, &redistest.Redis{Client: r.Client, Addr: r.Server.Addr, Prefix: "refused:"}).on(t, 7)
	r.Visible = func(s redistest.State) { visibleRuns(b.keys, s) }
	for _, part := range []func(b *bundle, name string){refusedSteps, refusedEnds, refusedHooks, refusedBatches, refusedReads, refusedUpkeep, refusedLegacy, refusedPortions, refusedRemovals} {
		part(b, "soon")
		b.quiet()
		r.Clear()
	}
	// Once more with new buckets of request ids for each call.
	b.clock.Tick(11 * time.Minute)
	for _, part := range []func(b *bundle, name string){refusedSteps, refusedHooks, refusedBatches, refusedEnds} {
		part(b, "late")
		b.quiet()
		r.Clear()
	}
	r.Check(texts, map[string]string{})
}

func refusedSteps(b *bundle, _ string) {
	runID := b.running()
	b.send(runID, world.EventAttrSet, "attr_1", b.caller().Changes("workflow", "a", "1", "b", "2"))
	b.send(runID, world.EventAttrSet, "attr_2", b.caller().Changes("workflow", "a", nil, "c", "3"))
	b.send(runID, world.EventStepCreated, "step_1", sample(b, world.EventStepCreated))
	b.send(runID, world.EventStepStarted, "step_1", nil)
	b.send(runID, world.EventStepRetrying, "step_1", data(b.t, "stepName", "add", "error", "again", "retryAfter", b.clock.Now().UnixMilli()))
	b.send(runID, world.EventStepRetrying, "step_1", sample(b, world.EventStepRetrying))
	b.send(runID, world.EventStepRetrying, "step_1", data(b.t, "stepName", "add", "error", "again", "retryAfter", b.clock.Now().UnixMilli()))
	b.send(runID, world.EventStepStarted, "step_1", nil)
	b.clock.Add(15 * time.Minute) // another bucket of request ids
	b.send(runID, world.EventStepCompleted, "step_1", sample(b, world.EventStepCompleted))
	b.send(runID, firstStart, "step_2", sample(b, firstStart))
	b.send(runID, world.EventStepFailed, "step_2", sample(b, world.EventStepFailed))
	b.send(runID, world.EventWaitCreated, "wait_1", sample(b, world.EventWaitCreated))
	b.send(runID, world.EventWaitCompleted, "wait_1", sample(b, world.EventWaitCompleted))
	// A step that differs from its events, and one that has none.
	b.send(runID, world.EventStepCreated, "step_3", sample(b, world.EventStepCreated))
	k := b.keys.of(runID)
	require.NoError(b.t, b.redis.Client.HSet(b.ctx, k.step("step_3"), "s", "completed", "ca", 1).Err())
	b.send(runID, world.EventStepStarted, "step_3", nil)
	require.NoError(b.t, b.redis.Client.HSet(b.ctx, k.step("step_4"), "s", "running").Err())
	b.send(runID, world.EventStepCreated, "step_4", sample(b, world.EventStepCreated))
	b.send(runID, world.EventStepStarted, "step_4", nil)
	b.check(runID)
}

func refusedEnds(b *bundle, name string) {
	offered := b.ids.Prefixed("wrun_")
	b.send(offered, world.EventRunStarted, "", b.runData())
	b.send(offered, world.EventRunFailed, "", sample(b, world.EventRunFailed))
	nothing := b.send("", world.EventRunCreated, "", b.runDataKeepingNothing()).Run.RunID
	b.send(nothing, world.EventRunStarted, "", nil)
	b.send(nothing, world.EventHookCreated, "hook_n"+name, data(b.t, "token", "n"+name))
	b.send(nothing, world.EventHookReceived, "hook_n"+name, data(b.t, "payload", strings.Repeat("x", record.SplitAbove+1)))
	b.send(nothing, world.EventRunCompleted, "", sample(b, world.EventRunCompleted))
	cancelled := b.running()
	b.send(cancelled, world.EventRunCancelled, "", nil)
	b.send(cancelled, world.EventRunCancelled, "", nil)
	many := []string{b.running(), b.running()}
	b.send(many[0], world.EventHookCreated, "hook_m"+name, data(b.t, "token", "m"+name))
	_, err := b.CancelRuns(b.ctx, world.CancelRuns{RunIDs: many})
	require.NoError(b.t, err)
	b.check(offered, cancelled, many[0], many[1])
}

func refusedHooks(b *bundle, name string) {
	runID, other := b.running(), b.running()
	b.send(runID, world.EventHookCreated, "hook_1"+name, data(b.t, "token", "t"+name))
	b.send(other, world.EventHookCreated, "hook_2"+name, data(b.t, "token", "t"+name))
	_, err := b.CreateEvent(b.ctx, b.resume(runID, "hook_1"+name, "resume_1", "d"))
	require.NoError(b.t, err)
	b.send(runID, world.EventHookReceived, "hook_1"+name, sample(b, world.EventHookReceived))
	b.send(runID, world.EventHookDisposed, "hook_1"+name, nil)
	b.send(runID, world.EventHookCreated, "hook_3"+name, data(b.t, "token", "t"+name, "tokenRetentionUntil", b.clock.Now().Add(time.Minute).UnixMilli()))
	b.send(runID, world.EventHookCreated, "hook_4"+name, data(b.t, "token", "u"+name))
	b.send(runID, world.EventRunCompleted, "", sample(b, world.EventRunCompleted))
	b.clock.Add(2 * time.Minute) // its retention is over
	b.send(other, world.EventHookCreated, "hook_5"+name, data(b.t, "token", "t"+name))
	b.check(runID, other)
}

func refusedBatches(b *bundle, name string) {
	runID := b.running()
	for _, stepID := range []string{"step_a", "step_b", "step_c"} {
		b.send(runID, firstStart, stepID, sample(b, firstStart))
	}
	b.send(runID, world.EventStepRetrying, "step_c", data(b.t, "stepName", "add", "error", "again", "retryAfter", b.clock.Now().UnixMilli()))
	b.send(runID, world.EventWaitCreated, "wait_a", sample(b, world.EventWaitCreated))
	b.batch(runID, "one", b.entry(world.EventStepCreated, "step_1"), b.entry(world.EventStepStarted, "step_1"),
		b.entry(world.EventStepRetrying, "step_a"), b.entry(world.EventStepCompleted, "step_b"), b.entry(world.EventStepStarted, "step_c"),
		b.entry(world.EventWaitCreated, "wait_1"), b.entry(world.EventWaitCompleted, "wait_a"))
	b.send(runID, world.EventHookCreated, "hook_b"+name, data(b.t, "token", "b"+name))
	require.NoError(b.t, b.redis.Client.HSet(b.ctx, b.keys.of(runID).step("step_2"), "s", "running", "ra", 1).Err())
	b.batch(runID, "two", b.entry(world.EventStepCreated, "step_3"), b.entry(world.EventStepCreated, "step_2"),
		b.entry(world.EventStepFailed, "step_1"), b.entry(world.EventRunCompleted, ""))
	b.check(runID)
}

func refusedReads(b *bundle, _ string) {
	runID := b.running()
	b.send(runID, world.EventHookCreated, "hook_r", data(b.t, "token", "r", "metadata", strings.Repeat("x", record.SplitAbove+1)))
	b.send(runID, world.EventStepCreated, "step_r", data(b.t, "stepName", "add", "input", strings.Repeat("x", record.SplitAbove+1)))
	log := b.events(runID)
	_, err := b.GetEvent(b.ctx, runID, log[1].EventID, false)
	require.NoError(b.t, err)
	for _, backwards := range []world.Order{world.Ascending, world.Descending} {
		order := world.PageRequest{Limit: 10, Order: backwards}
		_, err = b.ListEvents(b.ctx, world.EventQuery{RunID: runID, CorrelationID: "step_r", Page: order})
		require.NoError(b.t, err)
	}
	_, err = b.GetStep(b.ctx, runID, "step_r", false)
	require.NoError(b.t, err)
	_, err = b.GetHookByToken(b.ctx, "r", false)
	require.NoError(b.t, err)
	_, err = b.CopyRuns(b.ctx, []string{runID})
	require.NoError(b.t, err)
	_, err = b.GetRun(b.ctx, runID, false)
	require.NoError(b.t, err)
	b.send(runID, world.EventRunStarted, "", nil)
	_, _, ok, err := b.ReadStart(b.ctx, runID, 100, 1<<20)
	require.NoError(b.t, err)
	require.True(b.t, ok)
}

func refusedUpkeep(b *bundle, _ string) {
	runID := b.running()
	require.NoError(b.t, b.MarkIdle(b.ctx, runID, 2))
	b.clock.Add(time.Hour)
	due := b.due()
	require.Len(b.t, due, 1)
	b.park(due...)
	b.running()
	b.clock.Add(time.Hour)
	due = b.due()
	require.Len(b.t, due, 1)
	require.NoError(b.t, b.LookNext(b.ctx, []world.NextLook{{Look: due[0], Since: b.now() + 1}}))
	b.sweep()
}

func refusedLegacy(b *bundle, _ string) {
	run := b.legacyRun()
	b.update(run.RunID, world.RunRunning)
	for _, hookID := range []string{"hook_la", "hook_lb"} {
		_, err := b.CreateLegacyHook(b.ctx, world.CreateLegacyHook{RunID: run.RunID, HookID: hookID, Token: hookID})
		require.NoError(b.t, err)
	}
	_, err := b.DisposeLegacyHook(b.ctx, world.DisposeLegacyHook{HookID: "hook_la"})
	require.NoError(b.t, err)
	_, err = b.CreateLegacyStep(b.ctx, world.CreateLegacyStep{RunID: run.RunID, StepID: "step_l", StepName: "add", Input: raw(b.t, 1)})
	require.NoError(b.t, err)
	for _, status := range []world.StepStatus{world.StepRunning, world.StepCompleted} {
		_, err = b.UpdateLegacyStep(b.ctx, world.UpdateLegacyStep{RunID: run.RunID, StepID: "step_l", Status: status})
		require.NoError(b.t, err)
	}
	_, err = b.GetStep(b.ctx, run.RunID, "step_l", false)
	require.NoError(b.t, err)
	_, err = b.GetHook(b.ctx, "hook_lb", false)
	require.NoError(b.t, err)
	b.update(run.RunID, world.RunCompleted)
	announced := b.legacyRun()
	_, err = b.CreateLegacyEvent(b.ctx, world.CreateLegacyEvent{RunID: announced.RunID, Type: world.EventHookReceived, CorrelationID: "hook_lc", Data: sample(b, world.EventHookReceived)})
	require.NoError(b.t, err)
	cancelled := b.legacyRun()
	_, err = b.CreateLegacyHook(b.ctx, world.CreateLegacyHook{RunID: cancelled.RunID, HookID: "hook_ld", Token: "hook_ld"})
	require.NoError(b.t, err)
	b.send(cancelled.RunID, world.EventRunCancelled, "", nil)
}

// refusedPortions removes a run in portions, as if it had been too large for its end.
func refusedPortions(b *bundle, _ string) {
	runID := b.running()
	b.send(runID, world.EventHookCreated, "hook_p", data(b.t, "token", "p", "tokenRetentionUntil", b.clock.Now().Add(time.Hour).UnixMilli()))
	b.send(runID, world.EventHookReceived, "hook_p", data(b.t, "payload", strings.Repeat("x", record.SplitAbove+1)))
	b.send(runID, world.EventRunCompleted, "", sample(b, world.EventRunCompleted))
	b.quiet()
	k := b.keys.of(runID)
	require.NoError(b.t, b.redis.Client.HSet(b.ctx, k.run(), "cl", 0, "x", int64(b.now())).Err())
	require.NoError(b.t, b.redis.Client.ZAdd(b.ctx, k.hooksOrder(), redis.Z{Score: 1, Member: "hook_nobody"}).Err())
	for range 3 {
		_, err := b.scripts.runClear.Run(b.ctx, b.redis.Client, []string{k.run(), k.events(), k.hooks(), k.hooksOrder()}, int64(b.now()), 3, 3)
		require.NoError(b.t, err)
	}
}

func refusedRemovals(b *bundle, _ string) {
	runID := b.running()
	b.send(runID, world.EventStepCreated, "step_gone", sample(b, world.EventStepCreated))
	b.send(runID, world.EventRunCompleted, "", sample(b, world.EventRunCompleted))
	b.quiet()
	require.NoError(b.t, b.RemoveRun(b.ctx, runID))
	require.Equal(b.t, []string{b.keys.of(runID).removed()}, b.naming(runID))
}

// visibleRuns leaves out what readers do not see: events that the run does not count, and entries without a hook in the
// list of a run's hooks.
func visibleRuns(keys keyspace, s redistest.State) {
	events := strings.TrimSuffix(keys.of("").events(), "{}")
	for key, fields := range s {
		tag, is := strings.CutPrefix(key, events+"{")
		if !is {
			continue
		}
		k := keys.of(strings.TrimSuffix(tag, "}"))
		count, _ := strconv.Atoi(s[k.run()]["en"])
		for field := range fields {
			position, err := strconv.Atoi(strings.TrimSuffix(field, "/p"))
			if err == nil && position >= count {
				delete(fields, field)
			}
		}
		if len(fields) == 0 {
			delete(s, key)
		}
		for hook := range s[k.hooksOrder()] {
			if _, lives := s[k.hooks()][hook]; !lives {
				delete(s[k.hooksOrder()], hook)
			}
		}
	}
}
