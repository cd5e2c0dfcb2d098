package queue

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/redistest"
	"github.com/world-redis/world-redis/queue/internal/apps"
)

// A message of any state is dropped with all that belongs to it, and another one of its run stays. Dropped twice it is not
// there.
func TestAMessageOfAnyStateIsDropped(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		q := replica(t, r, nil, nil0)
		l := q.steps
		taken := func(out outcome) func(string) {
			return func(string) {
				ours, err := l.write(t.Context(), takeOne(t, l), out)
				require.NoError(t, err)
				require.True(t, ours)
			}
		}
		for state, into := range map[world.MessageState]func(id string){
			world.MessagePending:   func(string) {},
			world.MessageRetry:     taken(outcome{disposition: dispositionFailed, due: q.dueIn(time.Hour), reason: "no"}),
			world.MessageStalled:   taken(outcome{disposition: dispositionWaitingForApp, due: q.dueIn(time.Hour), reason: "no app"}),
			world.MessageDead:      taken(outcome{disposition: dispositionDead, reason: "no"}),
			world.MessageCompleted: taken(outcome{disposition: dispositionDone}),
		} {
			id := add(t, q)
			into(id)
			info, err := q.GetMessage(t.Context(), id)
			require.NoError(t, err)
			require.Equal(t, state, info.State)
			other := later(t, q, "wrun_1", "step_2")
			got, err := q.DropMessage(t.Context(), id)
			require.NoError(t, err, state)
			require.Equal(t, world.Dropped, got, state)
			_, err = q.GetMessage(t.Context(), id)
			require.Equal(t, world.CodeNotFound, world.ErrorCode(err), state)
			_, err = q.DropMessage(t.Context(), id)
			require.Equal(t, world.CodeNotFound, world.ErrorCode(err), state)
			n, err := q.CountRunMessages(t.Context(), "wrun_1")
			require.NoError(t, err)
			require.Equal(t, int64(1), n, state)

			got, err = q.DropMessage(t.Context(), other) // a scheduled one
			require.NoError(t, err)
			require.Equal(t, world.Dropped, got)
			require.Empty(t, keysLeft(t, r, l), state)
		}
	})
}

// A wake-up that was dropped absorbs no later one, pending, delayed or parked.
func TestADroppedWakeUpAbsorbsNothing(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		q := replica(t, r, nil, nil0)
		require.NoError(t, q.RegisterApp(t.Context(), world.App{BaseURL: "http://app", DeploymentID: "d", SDK: apps.SDKv4}))
		wake := world.Message{DeploymentID: "d", QueueName: "__wkf_workflow_x", ContentType: "application/cbor", RunID: "wrun_1", Plain: true}
		enqueue := func() string {
			id, err := q.Enqueue(t.Context(), wake)
			require.NoError(t, err)
			return id
		}
		drop := func(id string, want world.DropOutcome) {
			t.Helper()
			got, err := q.DropMessage(t.Context(), id)
			require.NoError(t, err)
			require.Equal(t, want, got)
		}
		pending := enqueue()
		require.Equal(t, pending, enqueue())
		drop(pending, world.Dropped)
		first := enqueue()
		require.NotEqual(t, pending, first)

		running := takeOne(t, q.flows)
		parked := enqueue()
		_, err := q.flows.claim()
		require.NoError(t, err)
		info, err := q.GetMessage(t.Context(), parked)
		require.NoError(t, err)
		require.Equal(t, world.MessageParked, info.State)
		drop(parked, world.Dropped)
		require.NotContains(t, keysLeft(t, r, q.flows), q.flows.keys.parked)
		drop(running.id, world.DropInHand)
		drop(running.id, world.DropInHand)
		ours, err := q.flows.write(t.Context(), running, outcome{disposition: dispositionRescheduled, due: q.dueIn(time.Hour)})
		require.NoError(t, err)
		require.True(t, ours)
		require.Empty(t, keysLeft(t, r, q.flows), "it is not delivered again")
	})
}

// A message is dropped while its replica is gone: nobody delivers it again.
func TestADroppedMessageOfALostReplicaIsNotDeliveredAgain(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		lost, healthy := replica(t, r, nil, nil0), replica(t, r, nil, nil0)
		id := add(t, lost)
		c := takeOne(t, lost.steps)
		got, err := healthy.DropMessage(t.Context(), id)
		require.NoError(t, err)
		require.Equal(t, world.DropInHand, got)
		lapse(t, lost.steps, c)
		require.NoError(t, healthy.steps.sweep(t.Context()))
		require.Empty(t, keysLeft(t, r, lost.steps))
	})
}

// later adds a message that is delayed.
func later(t *testing.T, q *Queue, runID, stepID string) string {
	t.Helper()
	id, err := q.Enqueue(t.Context(), world.Message{
		QueueName: "__wkf_step_x", ContentType: "application/cbor", RunID: runID, StepID: stepID, IdempotencyKey: stepID, Delay: time.Hour,
	})
	require.NoError(t, err)
	return id
}

// keysLeft are those of a queue's keys that hold messages or what belongs to them.
func keysLeft(t *testing.T, r *redistest.Redis, l *lane) []string {
	t.Helper()
	k := &l.keys
	var left []string
	for _, key := range []string{
		k.pending, k.active, k.lease, k.scheduled, k.retry, k.archived, k.completed, k.waitingForApp,
		k.idempotency, k.waiting, k.running, k.parked, k.delayed, k.ofRun + "wrun_1",
	} {
		if r.Client.Exists(context.Background(), key).Val() > 0 {
			left = append(left, key)
		}
	}
	return left
}
