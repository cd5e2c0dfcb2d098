package queue_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/redistest"
	"github.com/world-redis/world-redis/internal/worldtest"
)

// A message that its app refused, and whose run does not exist or does not have its step, is done. If that is not
// known, or if the step exists, the message is delivered again.
func TestStrayMessageIsDone(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		refusal := world.Outcome{Verdict: world.Failed, Status: 500, Reason: "Step not found", Sent: true}
		tries := map[string]int{}
		var mu sync.Mutex
		a := newApp(func(_ context.Context, d world.Delivery) world.Outcome {
			mu.Lock()
			defer mu.Unlock()
			if tries[d.MessageID]++; tries[d.MessageID] > 2 {
				return world.Outcome{Verdict: world.Done}
			}
			return refusal
		})
		c, said := config(r, a), &worldtest.Log{}
		c.Logger = said.Logger()
		asked := map[string]int{}
		c.Stray = func(_ context.Context, messageID string, m world.Message) (string, error) {
			mu.Lock()
			defer mu.Unlock()
			require.True(t, strings.HasPrefix(messageID, "msg_"))
			asked[m.StepID]++
			if m.RunID == "wrun_lost" {
				return "it does not exist", nil
			}
			switch m.StepID {
			case "missing":
				return "it is not there", nil
			case "unknown":
				return "", errors.New("no Redis")
			default:
				return "", nil
			}
		}
		q := run(t, newQueue(t, r.Client, c))
		v5 := flow("wrun_1") // the flow queue takes the steps of v5
		v5.StepID = "missing"
		ids := []string{
			enqueue(t, q, stepOf("wrun_1", "missing")), enqueue(t, q, v5), enqueue(t, q, stepOf("wrun_1", "unknown")),
			enqueue(t, q, stepOf("wrun_1", "there")), enqueue(t, q, flow("wrun_2")), enqueue(t, q, flow("wrun_lost")),
		}
		a.await(t, 3+3*3)
		requireQuiet(t, r)
		for i, n := range []int{1, 1, 3, 3, 3, 1} {
			require.Len(t, a.attempts(ids[i]), n, i)
		}
		require.Equal(t, map[string]int{"missing": 2, "unknown": 2, "there": 2, "": 3}, asked)
		require.Equal(t, 2, said.Count("a message for a step is dropped: it is not there"))
		require.Equal(t, 1, said.Count("a message of a run is dropped: it does not exist"))
	})
}

// StepMessages lists the runs that have only messages for steps, whatever these wait for.
func TestStepMessagesOfRuns(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		release := make(chan struct{})
		a := newApp(untilReleased(release))
		q := newQueue(t, r.Client, config(r, a))
		v5 := func(runID, stepID string) world.Message {
			m := flow(runID)
			m.StepID = stepID
			return m
		}
		delayed := func(m world.Message) world.Message {
			m.Delay = time.Hour
			return m
		}
		wake, large := flow("wrun_wake"), v5("wrun_large", "a")
		wake.Plain, large.Body = true, make([]byte, 5000)
		for _, m := range []world.Message{
			stepOf("wrun_v4", "a"), delayed(stepOf("wrun_v4", "b")), delayed(v5("wrun_v5", "a")), delayed(v5("wrun_both", "a")), delayed(stepOf("wrun_both", "b")),
			delayed(v5("wrun_wake", "a")), delayed(wake), delayed(stepOf("wrun_start", "a")), delayed(flow("wrun_start")), delayed(large),
		} {
			enqueue(t, q, m)
		}
		for i := range 17 {
			enqueue(t, q, delayed(stepOf("wrun_many", strings.Repeat("x", i+1))))
		}
		stepsOf := func() map[string]int {
			runs := []string{"wrun_v4", "wrun_v5", "wrun_both", "wrun_wake", "wrun_start", "wrun_large", "wrun_many", "wrun_none"}
			got, err := q.StepMessages(t.Context(), runs)
			require.NoError(t, err)
			require.Len(t, got, len(runs))
			out := map[string]int{}
			for i, ofRun := range got {
				for _, m := range ofRun {
					require.Equal(t, runs[i], m.RunID)
					require.NotEmpty(t, m.StepID)
					require.NotEmpty(t, m.Body)
					out[m.RunID]++
				}
			}
			return out
		}
		require.Equal(t, map[string]int{"wrun_v4": 2, "wrun_v5": 1, "wrun_both": 2}, stepsOf())
		run(t, q)
		a.await(t, 1)
		require.Equal(t, map[string]int{"wrun_v5": 1, "wrun_both": 2}, stepsOf(), "one is in an app's hands")
		close(release)
	})
}
