package lane

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/luascript"
	"github.com/world-redis/world-redis/internal/redistest"
	"github.com/world-redis/world-redis/queue/internal/script"
)

func TestMain(m *testing.M) { redistest.Main(m, goleak.Find, redistest.OnCluster) }

// replicas counts the lanes of all tests, so that each has its own name.
var replicas atomic.Int64

// replica is the lane of steps of a process that does only what the test does with it, like one that is paused at any
// point.
func replica(t *testing.T, r *redistest.Redis, clock world.Clock) *Lane {
	t.Helper()
	scripts, err := script.Load(t.Context(), r.Client, os.DirFS("../.."))
	require.NoError(t, err)
	if clock == nil {
		clock = world.SystemClock{}
	}
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	return New(Config{
		Kind: world.KindStep, Name: strings.TrimSuffix(r.Prefix, ":") + "_steps", KeyPrefix: r.Prefix, Concurrency: 100,
		Redis: r.Client, Send: luascript.NewRunner(r.Client), Scripts: scripts, Clock: clock, Log: log,
		Process: &Process{ID: fmt.Sprint("replica", replicas.Add(1))}, Phases: Phases{Claiming: ctx, Delivering: ctx, Writing: ctx},
		Outage: NewOutage(clock, log), Relieved: func() bool { return false }, Recovered: func() {}, AppRegistered: func() {},
	})
}

// messages counts the messages of all tests.
var messages atomic.Int64

// add adds a message of a step.
func add(t *testing.T, l *Lane) string { return addMessage(t, l, "step_1") }

// addMessage adds a message of a step, with an idempotency key, as package queue does.
func addMessage(t *testing.T, l *Lane, step string) string {
	t.Helper()
	id := fmt.Sprintf("msg_%06d", messages.Add(1)) // in the order of creation, as the real ones
	message, err := l.Encode(t.Context(), id, world.Message{
		QueueName: "__wkf_step_x", ContentType: "application/cbor", RunID: "wrun_1", StepID: step, IdempotencyKey: step,
	})
	require.NoError(t, err)
	k := &l.Keys
	reply, err := l.cfg.Scripts.Enqueue.Run(t.Context(), l.cfg.Redis,
		[]string{k.Task + id, k.Pending, k.Scheduled, k.Idempotency, k.Request + "-", k.Bell, k.Waiting, k.OfRun + "wrun_1"},
		id, message, l.cfg.Clock.Now().UnixNano(), "", "wrun_1:"+step, "0", k.Task, l.cfg.Process.RingText(0), "", "", "wrun_1", "")
	require.NoError(t, err)
	require.Equal(t, []any{int64(0), id}, reply)
	return id
}

// claimOne claims the only message there is.
func claimOne(t *testing.T, l *Lane) *Claim {
	t.Helper()
	c, err := l.ClaimOne()
	require.NoError(t, err)
	require.NotNil(t, c)
	return c
}

// lapse ends the lease of a message, as if its owner had been paused for so long.
func lapse(t *testing.T, l *Lane, c *Claim) {
	t.Helper()
	require.NoError(t, l.cfg.Redis.ZAdd(t.Context(), l.Keys.Lease, redis.Z{Score: 1, Member: c.ID}).Err())
	c.held = c.held.Add(-time.Minute)
}
