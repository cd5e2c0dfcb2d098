package storage

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/redistest"
)

// full is a run that has something of everything: steps, hooks, waits, attributes, a step of a batch. It has ended if end is true.
func (b *bundle) full(name string, end bool) (runID string) {
	b.t.Helper()
	runID = b.ids.Prefixed("wrun_")
	b.send(runID, world.EventRunCreated, "", b.runData())
	b.send(runID, world.EventRunStarted, "", nil)
	if b.spec >= 4 {
		b.send(runID, world.EventAttrSet, "attr_1"+name, b.caller().Changes("workflow", "a", "1"))
	}
	b.send(runID, world.EventStepCreated, "step_1"+name, sample(b, world.EventStepCreated))
	b.send(runID, world.EventStepStarted, "step_1"+name, nil)
	b.send(runID, world.EventStepCompleted, "step_1"+name, sample(b, world.EventStepCompleted))
	b.batch(runID, "batch"+name, b.entry(world.EventStepCreated, "step_2"+name), b.entry(world.EventWaitCreated, "wait_1"+name))
	b.send(runID, world.EventHookCreated, "hook_1"+name, data(b.t, "token", "t1"+name))
	_, err := b.CreateEvent(b.ctx, b.resume(runID, "hook_1"+name, "resume_1", "d"))
	require.NoError(b.t, err)
	b.send(runID, world.EventHookCreated, "hook_2"+name, data(b.t, "token", "t2"+name))
	b.send(runID, world.EventHookDisposed, "hook_2"+name, nil)
	if end {
		b.send(runID, world.EventRunCompleted, "", sample(b, world.EventRunCompleted))
	}
	b.quiet()
	return runID
}

// naming returns the keys that name a run, or have a member, a field or a value that does. Those that expire within half an hour
// are left out (request ids), and so is the sweeper's place in its lists.
func (b *bundle) naming(runID string) []string {
	b.t.Helper()
	var out []string
	for _, key := range b.keysLike(b.keys.prefix + "*") {
		if key == b.keys.sweepState() || strings.HasPrefix(key, b.keys.prefix+"request:") {
			continue
		}
		var held []string
		switch b.redis.Client.Type(b.ctx, key).Val() {
		case "hash":
			for field, value := range b.redis.Client.HGetAll(b.ctx, key).Val() {
				held = append(held, field, value)
			}
		case "zset":
			held = b.listed(key)
		case "set":
			held = b.redis.Client.SMembers(b.ctx, key).Val()
		case "string":
			held = []string{b.redis.Client.Get(b.ctx, key).Val()}
		}
		if strings.Contains(strings.Join(append(held, key), " "), runID) {
			out = append(out, key)
		}
	}
	return out
}

// A removed run leaves a mark for an hour, and nothing else. Other runs keep what they have.
func TestARemovedRunLeavesAMarkAndNothingElse(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		b := newBundle(t, r).on(t, 7)
		other := b.full("_other", false)
		runID := b.full("_a", true)
		require.NoError(t, b.RemoveRun(b.ctx, runID))
		mark := b.keys.of(runID).removed()
		require.Equal(t, []string{mark}, b.naming(runID))
		require.Equal(t, "completed", r.Client.HGet(b.ctx, mark, "s").Val())
		require.InDelta(t, removedFor, r.Client.TTL(b.ctx, mark).Val(), float64(time.Minute))

		b.check(other)
		step, err := b.GetStep(b.ctx, "", "step_1_other", false)
		require.NoError(t, err)
		require.Equal(t, other, step.RunID)
		require.Equal(t, world.CodeRunNotFound, world.ErrorCode(b.RemoveRun(b.ctx, "wrun_unknown")))
		require.NoError(t, b.RemoveRun(b.ctx, runID), "a repeated call changes nothing")
	})
}

// A late event of a removed run is refused as one of a run that does not exist, and never creates the run.
func TestARemovedRunNeverComesBack(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		for _, spec := range []int{2, 3, 5, 7} {
			b := newBundle(t, r).on(t, spec)
			name := fmt.Sprintf("_%d", spec)
			runID := b.full(name, true)
			require.NoError(t, b.RemoveRun(b.ctx, runID))
			for _, late := range []struct {
				event world.EventType
				id    string
			}{
				{world.EventRunStarted, ""},
				{world.EventRunCompleted, ""},
				{world.EventRunFailed, ""},
				{world.EventRunCancelled, ""},
				{world.EventStepCreated, "step_9" + name},
				{world.EventStepStarted, "step_1" + name},
				{world.EventStepRetrying, "step_1" + name},
				{world.EventStepCompleted, "step_1" + name},
				{world.EventStepFailed, "step_1" + name},
				{world.EventHookCreated, "hook_9" + name},
				{world.EventHookReceived, "hook_1" + name},
				{world.EventHookDisposed, "hook_1" + name},
				{world.EventWaitCreated, "wait_9" + name},
				{world.EventWaitCompleted, "wait_1" + name},
			} {
				_, err := b.try(runID, late.event, late.id, sample(b, late.event))
				require.Contains(t, []world.Code{world.CodeRunNotFound, world.CodeStepNotFound, world.CodeHookNotFound, world.CodeWaitNotFound}, world.ErrorCode(err), "%s: %v", late.event, err)
			}
			_, err := b.try(runID, world.EventRunStarted, "", b.runData())
			require.Equal(t, world.CodeRunNotFound, world.ErrorCode(err), "the input comes with it")
			_, err = b.try(runID, world.EventRunCreated, "", b.runData())
			require.Equal(t, world.CodeConflict, world.ErrorCode(err))
			require.ErrorContains(t, err, "has been removed")
			_, err = b.GetRun(b.ctx, runID, false)
			require.Equal(t, world.CodeRunNotFound, world.ErrorCode(err))
			runs, err := b.ListRuns(b.ctx, world.RunQuery{Page: world.PageRequest{Limit: 100}})
			require.NoError(t, err)
			for _, run := range runs.Data {
				require.NotEqual(t, runID, run.RunID)
			}
		}
	})
}

// A run that goes on, or holds a token, is not removed.
func TestARunThatIsNeededIsNotRemoved(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		b := newBundle(t, r).on(t, 7)
		runID := b.running()
		err := b.RemoveRun(b.ctx, runID)
		require.Equal(t, world.CodeConflict, world.ErrorCode(err))
		require.ErrorContains(t, err, "is running")
		b.send(runID, world.EventHookCreated, "hook_k", data(t, "token", "k", "tokenRetentionUntil", b.clock.Now().Add(time.Hour).UnixMilli()))
		b.send(runID, world.EventRunCompleted, "", sample(b, world.EventRunCompleted))
		b.quiet()
		err = b.RemoveRun(b.ctx, runID)
		require.Equal(t, world.CodeConflict, world.ErrorCode(err))
		require.ErrorContains(t, err, "tokenRetentionUntil")
		b.check(runID)
		require.Empty(t, b.listed(b.keys.removals()))
		b.clock.Add(2 * time.Hour)
		b.sweep()
		require.NoError(t, b.RemoveRun(b.ctx, runID))
		require.Equal(t, []string{b.keys.of(runID).removed()}, b.naming(runID))
	})
}

// The process dies before any one of the commands of a removal. The run is then whole, or out of sight, and the sweeper removes
// what is left of it.
func TestARemovalThatIsInterruptedIsCompleted(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		b, broken, _, _ := crashBundle(t, r)
		for n := int64(0); ; n++ {
			runID := b.full(fmt.Sprintf("_%d", n), true)
			broken.left.Store(n)
			err := b.RemoveRun(b.ctx, runID)
			survived := broken.left.Load() >= 0
			broken.whole()
			require.Equal(t, survived, err == nil, "%d commands: %v", n, err)
			begun := b.listed(b.keys.removals())
			if _, err := b.GetRun(b.ctx, runID, false); err == nil {
				b.check(runID)
			} else {
				require.Equal(t, world.CodeRunNotFound, world.ErrorCode(err))
				require.True(t, survived || len(begun) == 1, "%d commands: the sweeper finds it", n)
			}
			b.clock.Add(2 * time.Minute)
			b.sweep()
			require.Empty(t, b.listed(b.keys.removals()))
			if len(begun) > 0 || survived {
				require.Equal(t, []string{b.keys.of(runID).removed()}, b.naming(runID), "%d commands", n)
			}
			if survived {
				return
			}
		}
	})
}

// A run that was removed is not reported as one that Redis lost.
func TestARemovedRunIsNotLost(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		b := newBundle(t, r).on(t, 7)
		runID := b.running()
		b.send(runID, world.EventHookCreated, "hook_1", data(t, "token", "t1"))
		resumed, err := b.CreateEvent(b.ctx, b.resume(runID, "hook_1", "resume_1", "d"))
		require.NoError(t, err)
		b.send(runID, world.EventRunCompleted, "", sample(b, world.EventRunCompleted))
		b.quiet()
		require.NoError(t, b.RemoveRun(b.ctx, runID))
		missing, err := b.MissingCalls(b.ctx, []world.AnsweredCall{
			{Kind: world.AnsweredStart, RunID: runID},
			{Kind: world.AnsweredResume, RunID: runID, EventID: resumed.Event.EventID, HookID: "hook_1", ResumeID: "resume_1", At: resumed.Event.CreatedAt},
			{Kind: world.AnsweredStart, RunID: "wrun_lost"},
		})
		require.NoError(t, err)
		require.Equal(t, []bool{false, false, true}, missing)
	})
}
