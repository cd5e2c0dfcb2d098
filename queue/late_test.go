package queue_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/redistest"
)

// A message with the input of a run that has been removed is set aside with that reason: before a delivery if the run is old, and
// otherwise after the first delivery that the app refuses. It is neither dropped nor delivered again.
func TestAStartOfARemovedRunIsADeadLetter(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		a := newApp(func(_ context.Context, d world.Delivery) world.Outcome {
			if d.Message.StepID == "fine" {
				return world.Outcome{Verdict: world.Done}
			}
			return world.Outcome{Verdict: world.Failed, Status: 500, Reason: "Workflow run not found", Sent: true}
		})
		c := config(r, a)
		oldRun := "wrun_" + ulid.MustNew(ulid.Timestamp(time.Now().Add(-time.Hour)), nil).String()
		oldAlive := "wrun_" + ulid.MustNew(ulid.Timestamp(time.Now().Add(-2*time.Hour)), nil).String()
		newRun := "wrun_" + ulid.MustNew(ulid.Timestamp(time.Now()), nil).String()
		c.Late = func(_ context.Context, m world.Message) (string, error) {
			switch m.RunID {
			case oldRun, newRun:
				return "the run has been removed", nil
			default:
				return "", errors.New("no Redis")
			}
		}
		c.Stray = func(context.Context, string, world.Message) (string, error) { return "it would be dropped", nil }
		q := run(t, newQueue(t, r.Client, c))
		alive := flow(oldAlive)
		alive.StepID = "fine"
		before, after, fine := enqueue(t, q, flow(oldRun)), enqueue(t, q, flow(newRun)), enqueue(t, q, alive)
		a.await(t, 2)
		for id, deliveries := range map[string]int{before: 0, after: 1} {
			require.Eventually(t, func() bool {
				m, err := q.GetMessage(t.Context(), id)
				return err == nil && m.State == world.MessageDead && m.Reason == "the run has been removed"
			}, patience, time.Millisecond)
			require.Len(t, a.attempts(id), deliveries)
		}
		require.Len(t, a.attempts(fine), 1)
	})
}
