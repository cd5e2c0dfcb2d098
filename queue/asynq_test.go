package queue_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/hibiken/asynq"
	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/redistest"
	"github.com/world-redis/world-redis/internal/worldtest"
	"github.com/world-redis/world-redis/queue"
)

// asynq's own tools read our queues: they find a message in every state. This also proves that asynq's key names, which
// we write, have not changed.
func TestAsynqToolsReadTheQueues(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		release := make(chan struct{})
		a := newApp(func(ctx context.Context, d world.Delivery) world.Outcome {
			switch d.StepID {
			case "active":
				return untilReleased(release)(ctx, d)
			case "retry":
				return world.Outcome{Verdict: world.Reschedule, Delay: time.Hour}
			case "dead":
				return world.Outcome{Verdict: world.Failed, Reason: "no"}
			default:
				return world.Outcome{Verdict: world.Done}
			}
		})
		c, said := config(r, a), &worldtest.Log{}
		c.Logger = slog.New(slog.NewTextHandler(said, &slog.HandlerOptions{Level: slog.LevelDebug}))
		c.Backoff.DeadAfter, c.StepConcurrency = 1, 1
		q := newQueue(t, r.Client, c)
		name := c.JobPrefix + "steps"
		ids := map[string]string{}
		for _, step := range []string{"done", "dead", "retry", "active", "pending"} {
			ids[step] = enqueue(t, q, stepOf("wrun_1", step))
		}
		scheduled := stepOf("wrun_1", "scheduled")
		scheduled.Delay = time.Hour
		ids["scheduled"] = enqueue(t, q, scheduled)
		working := run(t, q)
		a.await(t, 4)

		i := asynq.NewInspectorFromRedisClient(r.Client)
		want := map[string]asynq.TaskState{
			"done": asynq.TaskStateCompleted, "dead": asynq.TaskStateArchived, "retry": asynq.TaskStateRetry, "active": asynq.TaskStateActive,
			"pending": asynq.TaskStatePending, "scheduled": asynq.TaskStateScheduled,
		}
		for step, state := range want {
			info, err := i.GetTaskInfo(name, ids[step])
			require.NoError(t, err, step)
			require.Equal(t, state, info.State, step)
			if state == asynq.TaskStateRetry || state == asynq.TaskStateScheduled {
				require.InDelta(t, time.Hour.Seconds(), time.Until(info.NextProcessAt).Seconds(), 60, step)
			}
		}
		active, err := i.ListActiveTasks(name)
		require.NoError(t, err)
		require.Len(t, active, 1)
		dead, err := i.ListArchivedTasks(name)
		require.NoError(t, err)
		require.Len(t, dead, 1)
		done, err := i.ListCompletedTasks(name)
		require.NoError(t, err)
		require.Len(t, done, 1)

		servers, err := i.Servers()
		require.NoError(t, err)
		require.True(t, slices.ContainsFunc(servers, func(s *asynq.ServerInfo) bool {
			return s.Queues[name] == 1 && s.Concurrency == 1
		}))

		// A queue that an operator pauses is not served until it is resumed.
		require.NoError(t, i.PauseQueue(name))
		close(release)
		require.Eventually(t, func() bool {
			d, err := q.Depths(context.Background())
			return err == nil && d[1].Active == 0
		}, patience, time.Millisecond)
		require.Len(t, a.seen(), 4)
		require.NoError(t, i.UnpauseQueue(name))
		a.await(t, 1)
		require.Equal(t, "pending", a.seen()[4].StepID)

		// If asynq had run one of its own scripts on a message, that would have found nothing and logged it.
		working.stop()
		require.Positive(t, said.Count("asynq: "))
		for _, complaint := range []string{"Could not", "Failed", "cannot", "NOT FOUND", "retry", "Retry"} {
			require.Zero(t, said.Count("asynq: "+complaint), complaint)
		}
		require.Zero(t, said.Count("NOT FOUND"))
	})
}

// A queue is not opened with an asynq that makes other calls than the service knows; internal/asynqbridge tests which
// those are, and that this version makes none.
func TestAQueueIsNotOpenedWithAnotherAsynq(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		q, err := queue.Open(t.Context(), r.Client, config(r, newApp(always(world.Outcome{}))), func() error { return errors.New("asynq v9 is another one") })
		require.EqualError(t, err, "queue: asynq v9 is another one")
		require.Nil(t, q)
		keys, err := r.Client.Keys(t.Context(), r.Prefix+"*").Result()
		require.NoError(t, err)
		require.Empty(t, keys)
	})
}
