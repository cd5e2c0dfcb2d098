package queue

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/redistest"
	"github.com/world-redis/world-redis/queue/internal/apps"
	"github.com/world-redis/world-redis/queue/internal/lane"
)

// A message in any state is dropped with all its keys, and another one of its run stays. The second time it does not
// exist.
func TestAMessageOfAnyStateIsDropped(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		q := replica(t, r, nil, nil0)
		w := q.steps
		finished := func(out lane.Decision) func(string) {
			return func(string) {
				w.Finish(claimOne(t, w).Claim, out)
			}
		}
		for state, into := range map[world.MessageState]func(id string){
			world.MessagePending:       func(string) {},
			world.MessageRetry:         finished(lane.Decision{Disposition: lane.Failed, Due: q.dueIn(time.Hour), Reason: "no"}),
			world.MessageWaitingForApp: finished(lane.Decision{Disposition: lane.WaitingForApp, Due: q.dueIn(time.Hour), Reason: "no app"}),
			world.MessageDead:          finished(lane.Decision{Disposition: lane.Dead, Reason: "no"}),
			world.MessageCompleted:     finished(lane.Decision{Disposition: lane.Done}),
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
			require.Empty(t, keysLeft(t, r, w), state)
		}
	})
}

// A dropped wake-up absorbs no later one, whether it was pending, delayed or parked.
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

		running := claimOne(t, q.flows)
		parked := enqueue()
		claimed, err := q.flows.ClaimOne()
		require.NoError(t, err)
		require.Nil(t, claimed)
		info, err := q.GetMessage(t.Context(), parked)
		require.NoError(t, err)
		require.Equal(t, world.MessageParked, info.State)
		drop(parked, world.Dropped)
		require.NotContains(t, keysLeft(t, r, q.flows), q.flows.Keys.Parked)
		drop(running.ID, world.DropInHand)
		drop(running.ID, world.DropInHand)
		q.flows.Finish(running.Claim, lane.Decision{Disposition: lane.Rescheduled, Due: q.dueIn(time.Hour)})
		require.Empty(t, keysLeft(t, r, q.flows), "it is not delivered again")
	})
}

// A message is dropped after its replica has died: it is not delivered again.
func TestADroppedMessageOfALostReplicaIsNotDeliveredAgain(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		lost, healthy := replica(t, r, nil, nil0), replica(t, r, nil, nil0)
		id := add(t, lost)
		c := claimOne(t, lost.steps)
		got, err := healthy.DropMessage(t.Context(), id)
		require.NoError(t, err)
		require.Equal(t, world.DropInHand, got)
		lapse(t, lost.steps, c)
		sweep(t, healthy.steps)
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

// keysLeft returns the keys of a queue that hold messages or belong to them.
func keysLeft(t *testing.T, r *redistest.Redis, w *worker) []string {
	t.Helper()
	k := &w.Keys
	var left []string
	for _, key := range []string{
		k.Pending, k.Active, k.Lease, k.Scheduled, k.Retry, k.Archived, k.Completed, k.WaitingForApp,
		k.Idempotency, k.Waiting, k.Running, k.Parked, k.Delayed, k.OfRun + "wrun_1",
	} {
		if r.Client.Exists(context.Background(), key).Val() > 0 {
			left = append(left, key)
		}
	}
	return left
}

// The messages of a removed run that have ended go with it, dead or done, and those of other runs stay.
func TestTheEndedMessagesOfARemovedRunAreDropped(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		q := replica(t, r, nil, nil0)
		w := q.steps
		for _, end := range []lane.Disposition{lane.Dead, lane.Done, lane.Dead} {
			add(t, q)
			w.Finish(claimOne(t, w).Claim, lane.Decision{Disposition: end, Reason: "no"})
			require.NoError(t, q.RemoveRuns(t.Context(), []string{"wrun_2"}))
		}
		other, err := q.Enqueue(t.Context(), world.Message{QueueName: "__wkf_step_x", ContentType: "application/cbor", RunID: "wrun_2", StepID: "step_2"})
		require.NoError(t, err)
		w.Finish(claimOne(t, w).Claim, lane.Decision{Disposition: lane.Dead, Reason: "no"})
		require.NoError(t, q.RemoveRuns(t.Context(), []string{"wrun_1"}))
		require.Equal(t, []string{other}, r.Client.ZRange(t.Context(), w.Keys.Archived, 0, -1).Val())
		require.Empty(t, r.Client.ZRange(t.Context(), w.Keys.Completed, 0, -1).Val())
		require.NoError(t, q.RemoveRuns(t.Context(), []string{"wrun_1", "wrun_2"}))
		require.Empty(t, keysLeft(t, r, w))
	})
}

// All messages of a run that have not ended go with it: pending and delayed ones. One that is being delivered is not delivered
// again. Messages of other runs stay.
func TestTheMessagesOfARemovedRunAreDropped(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		q := replica(t, r, nil, nil0)
		w := q.steps
		add(t, q)
		inHand := claimOne(t, w).Claim
		add(t, q)
		for range 3 * removedAtOnce {
			later(t, q, "wrun_1", "step_2")
		}
		later(t, q, "wrun_2", "step_2")
		require.NoError(t, q.RemoveRuns(t.Context(), []string{"wrun_1", "wrun_3"}))
		w.Finish(inHand, lane.Decision{Disposition: lane.Failed, Due: q.dueIn(time.Hour), Reason: "no"})
		n, err := q.CountRunMessages(t.Context(), "wrun_1")
		require.NoError(t, err)
		require.Zero(t, n)
		n, err = q.CountRunMessages(t.Context(), "wrun_2")
		require.NoError(t, err)
		require.Equal(t, int64(1), n)
		require.NoError(t, q.RemoveRuns(t.Context(), []string{"wrun_1", "wrun_3"}), "again")
	})
}
