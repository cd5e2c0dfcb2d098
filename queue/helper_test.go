package queue_test

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/redistest"
	"github.com/world-redis/world-redis/queue"
)

func TestMain(m *testing.M) { redistest.Main(m, goleak.Find, redistest.OnCluster) }

// patience is how long a test waits for something that should happen immediately.
const patience = 20 * time.Second

// app is a fake of the apps behind the forwarder: it answers deliveries as scripted and records them.
type app struct {
	mu         sync.Mutex
	answer     func(ctx context.Context, d world.Delivery) world.Outcome
	deliveries []world.Delivery
	times      []time.Time
	arrived    chan struct{} // one item a delivery
}

func newApp(answer func(ctx context.Context, d world.Delivery) world.Outcome) *app {
	return &app{answer: answer, arrived: make(chan struct{}, 100_000)}
}

// always gives every delivery the same answer.
func always(o world.Outcome) func(context.Context, world.Delivery) world.Outcome {
	return func(context.Context, world.Delivery) world.Outcome { return o }
}

// inTurn gives each answer once, and then Done.
func inTurn(outcomes ...world.Outcome) func(context.Context, world.Delivery) world.Outcome {
	var mu sync.Mutex
	return func(context.Context, world.Delivery) world.Outcome {
		mu.Lock()
		defer mu.Unlock()
		if len(outcomes) == 0 {
			return world.Outcome{Verdict: world.Done}
		}
		o := outcomes[0]
		outcomes = outcomes[1:]
		return o
	}
}

// untilReleased holds every delivery until the channel closes or the delivery is cut.
func untilReleased(release <-chan struct{}) func(context.Context, world.Delivery) world.Outcome {
	return func(ctx context.Context, _ world.Delivery) world.Outcome {
		select {
		case <-release:
			return world.Outcome{Verdict: world.Done}
		case <-ctx.Done():
			return world.Outcome{Verdict: world.Unreachable, Sent: true, Reason: "cut"}
		}
	}
}

func (a *app) Deliver(ctx context.Context, d world.Delivery) world.Outcome {
	a.mu.Lock()
	a.deliveries = append(a.deliveries, d)
	a.times = append(a.times, time.Now())
	answer := a.answer
	a.mu.Unlock()
	a.arrived <- struct{}{}
	return answer(ctx, d)
}

func (a *app) seen() []world.Delivery {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]world.Delivery(nil), a.deliveries...)
}

// await waits for n more deliveries to begin.
func (a *app) await(t testing.TB, n int) {
	t.Helper()
	for i := range n {
		select {
		case <-a.arrived:
		case <-time.After(patience):
			require.FailNow(t, "no delivery", "%d of %d came", i, n)
		}
	}
}

// attempts returns the attempt numbers of all deliveries of a message.
func (a *app) attempts(id string) []int {
	var n []int
	for _, d := range a.seen() {
		if d.MessageID == id {
			n = append(n, d.Attempt)
		}
	}
	return n
}

// hurry has back-offs that are short enough for a test.
func hurry() queue.Backoff {
	return queue.Backoff{
		FailedFirst: 5 * time.Millisecond, FailedMax: 10 * time.Millisecond, Quick: []time.Duration{time.Millisecond, time.Millisecond},
		UnreachableFirst: 10 * time.Millisecond, UnreachableMax: 30 * time.Millisecond, NoTarget: time.Hour, DeadAfter: 60,
	}
}

// config is the configuration of a queue with the test's own keys and an app at http://app.
func config(r *redistest.Redis, a world.Deliverer) queue.Config {
	return queue.Config{
		KeyPrefix: r.Prefix, JobPrefix: strings.TrimSuffix(r.Prefix, ":") + "_", FlowConcurrency: 20, StepConcurrency: 20,
		ShutdownGrace: patience, BaseURL: "http://app", Backoff: hurry(), Deliverer: a,
	}
}

// running is a queue that runs until it is stopped, at the latest when the test ends.
type running struct {
	*queue.Queue
	stop func()
}

func newQueue(t testing.TB, client redis.UniversalClient, c queue.Config) *queue.Queue {
	t.Helper()
	if c.Logger == nil {
		c.Logger = slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))
	}
	q, err := queue.New(t.Context(), client, c)
	require.NoError(t, err)
	return q
}

func run(t testing.TB, q *queue.Queue) running {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- q.Run(ctx) }()
	r := running{Queue: q, stop: sync.OnceFunc(func() {
		cancel()
		select {
		case err := <-ended:
			require.NoError(t, err)
		case <-time.After(3 * patience):
			require.FailNow(t, "Run does not return")
		}
	})}
	t.Cleanup(r.stop)
	return r
}

func start(t testing.TB, r *redistest.Redis, a world.Deliverer) running {
	t.Helper()
	return run(t, newQueue(t, r.Client, config(r, a)))
}

const (
	flowName = "__wkf_workflow_workflow//./workflows/bench//addition"
	stepName = "__wkf_step_step//./workflows/bench//add"
)

func flow(runID string) world.Message {
	return world.Message{QueueName: flowName, Body: []byte("\xa1\x65runId\x61x"), ContentType: "application/cbor", RunID: runID}
}

func stepOf(runID, key string) world.Message {
	return world.Message{QueueName: stepName, Body: []byte("step"), ContentType: "application/cbor", RunID: runID, StepID: key, IdempotencyKey: key}
}

func enqueue(t testing.TB, q world.Queue, m world.Message) string {
	t.Helper()
	id, err := q.Enqueue(t.Context(), m)
	require.NoError(t, err)
	return id
}

// requireQuiet waits until no message and no key of one is left in Redis.
func requireQuiet(t testing.TB, r *redistest.Redis) {
	t.Helper()
	var left []string
	require.Eventually(t, func() bool {
		left = leftovers(t, r)
		return len(left) == 0
	}, 3*patience, 5*time.Millisecond, "keys left") // of up to ten thousand messages
	require.Empty(t, left)
}

// leftovers returns the keys of the test except the permanent ones: asynq's counters and our counters of registrations,
// finished messages, the apps, the replicas, and the memory of request ids, which expires.
func leftovers(t testing.TB, r *redistest.Redis) []string {
	t.Helper()
	var left []string
	for _, pattern := range []string{r.Prefix + "*", "asynq:{" + strings.TrimSuffix(r.Prefix, ":") + "_*"} {
		keys, err := r.Keys(context.Background(), pattern)
		require.NoError(t, err)
		for _, k := range keys {
			switch {
			case strings.HasSuffix(k, "}:completed"), strings.Contains(k, "}:t:") && r.Client.HGet(context.Background(), k, "state").Val() == "completed":
				// the last hundred are kept for operators
			case strings.Contains(k, "}:processed"), strings.Contains(k, "}:failed"), strings.HasSuffix(k, "}:wakes"),
				strings.HasSuffix(k, ":apps"), strings.HasSuffix(k, ":replicas"), strings.Contains(k, "}:request:"):
			default:
				left = append(left, k)
			}
		}
	}
	return left
}
