package storage

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/redistest"
	"github.com/world-redis/world-redis/storage/storagetest"
)

// sendPrepared prepares an event, sends it and finishes it.
func (b *bundle) sendPrepared(req world.CreateEvent) (result world.EventResult, first bool, err error) {
	b.t.Helper()
	p, ok := b.Prepare(b.ctx, req)
	require.True(b.t, ok, "%s", req.Type)
	return p.Finish(b.ctx, b.Store.send.RunInOrder(b.ctx, p.Batch)[0])
}

// Events of steps and waits can be prepared; the answer is that of CreateEvent, which recognises a repeat of the call.
func TestAPreparedEventIsOneOfCreateEvent(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		for _, spec := range []int{3, 7} {
			b := newBundle(t, r).on(t, spec)
			for eventType, entry := range storagetest.EveryRepeatable(spec) {
				runID := entry.From(b.caller())
				req := b.request(runID, eventType, storagetest.CorrelationOf(eventType), sample(b, eventType))
				req.RequestID = "r"
				if !strings.HasPrefix(string(req.Type), "step_") && !strings.HasPrefix(string(req.Type), "wait_") {
					_, ok := b.Prepare(b.ctx, req)
					require.False(t, ok, eventType)
				} else {
					seen := int64(1)
					req.EventCount = &seen
					result, first, err := b.sendPrepared(req)
					require.NoError(t, err, eventType)
					require.True(t, first, eventType)
					again, err := b.CreateEvent(b.ctx, req)
					require.NoError(t, err, eventType)
					require.Equal(t, again, result, eventType)
					if result.Step != nil {
						located, err := b.GetStep(b.ctx, "", x, false)
						require.NoError(t, err, eventType)
						require.Equal(t, *result.Step, located, eventType)
					}
					b.check(runID)
				}
				_, _ = b.try(runID, world.EventRunCancelled, "", nil) // frees the token for the next type
				b.clock.Add(retention)
				b.sweep()
			}
		}
	})
}

// A refusal is the same as by CreateEvent; an invalid event, or one that needs more than a script, is not prepared.
func TestAPreparedEventIsRefusedAsByCreateEvent(t *testing.T) {
	t.Parallel()
	b := newBundle(t, redistest.New(t)).on(t, 7)
	ended := scene((*bundle).running).then(world.EventStepCreated, world.EventStepCompleted)(b)
	for name, req := range map[string]world.CreateEvent{
		"ended":  b.request(ended, world.EventStepCompleted, x, sample(b, world.EventStepCompleted)),
		"exists": b.request(ended, world.EventStepCreated, x, sample(b, world.EventStepCreated)),
		"no run": b.request(b.ids.Prefixed("wrun_"), world.EventStepCreated, "step_nowhere", sample(b, world.EventStepCreated)),
		"no end": {RunID: ended, Type: world.EventStepCompleted, CorrelationID: x, SpecVersion: 7, Data: sample(b, world.EventStepCompleted), LogEnd: &world.LogEnd{Position: 99, CreatedAt: b.now()}},
	} {
		_, want := b.CreateEvent(b.ctx, req)
		require.Error(t, want, name)
		_, first, err := b.sendPrepared(req)
		require.EqualError(t, err, want.Error(), name)
		require.Equal(t, world.ErrorCode(want), world.ErrorCode(err), name)
		require.False(t, first, name)
	}
	require.False(t, b.redis.Client.HExists(b.ctx, b.keys.locator("step_nowhere"), "step_nowhere").Val(), "there is nothing to locate")
	for name, req := range map[string]world.CreateEvent{
		"no such type": b.request(ended, "step_forgotten", x, nil),
		"a bad id":     b.request(ended, world.EventStepCompleted, "{", sample(b, world.EventStepCompleted)),
		"without data": b.request(ended, world.EventStepCreated, x, nil),
	} {
		_, ok := b.Prepare(b.ctx, req)
		require.False(t, ok, name)
	}
}

// An event that was not applied by its own script came after what was sent behind it.
func TestAPreparedEventThatIsAppliedLater(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		b := newBundle(t, r)
		runID := scene((*bundle).running).then(world.EventStepCreated, world.EventStepStarted)(b)
		require.NoError(t, r.Client.Del(b.ctx, b.keys.of(runID).step(x)).Err())
		result, first, err := b.sendPrepared(b.request(runID, world.EventStepCompleted, x, sample(b, world.EventStepCompleted)))
		require.NoError(t, err)
		require.False(t, first, "the step was mended before")
		require.Equal(t, world.StepCompleted, result.Step.Status)
		b.check(runID)

		legacy, err := b.CreateLegacyRun(b.ctx, world.CreateLegacyRun{DeploymentID: "d", WorkflowName: "wf", Input: raw(t, 1)})
		require.NoError(t, err)
		req := world.CreateEvent{RunID: legacy.RunID, Type: world.EventWaitCompleted, CorrelationID: "wait_1", SpecVersion: 1}
		result, first, err = b.sendPrepared(req)
		require.NoError(t, err)
		require.False(t, first, "it is appended as a legacy event")
		require.Equal(t, world.EventWaitCompleted, result.Event.Type)
	})
}
