package queue_test

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/redistest"
	"github.com/world-redis/world-redis/internal/worldtest"
	"github.com/world-redis/world-redis/queue"
)

// fill enqueues n messages, named <name>_<i>, from a few concurrent callers.
func fill(t testing.TB, q world.Queue, n int, message func(i int) world.Message) {
	t.Helper()
	var callers sync.WaitGroup
	var failed atomic.Int64
	const width = 16
	for c := range width {
		callers.Go(func() {
			for i := c; i < n; i += width {
				if _, err := q.Enqueue(t.Context(), message(i)); err != nil {
					failed.Add(1)
				}
			}
		})
	}
	callers.Wait()
	require.Zero(t, failed.Load())
}

// BR-17: ten thousand waits are due in one second. A new message has at most a few hundred of them before it, not ten
// thousand; and all are delivered.
func TestTenThousandDueMessagesHoldUpNobody(t *testing.T) {
	t.Parallel()
	const due, interactive = 10_000, 20
	r := redistest.New(t)
	var delivered atomic.Int64           // due ones
	var behind [interactive]atomic.Int64 // how many due ones were delivered before each interactive one
	inTheMiddle := make(chan struct{}, due)
	done := make(chan struct{}, interactive)
	a := newApp(func(_ context.Context, d world.Delivery) world.Outcome {
		if n, ok := strings.CutPrefix(d.RunID, "wrun_new_"); ok {
			i, _ := strconv.Atoi(n)
			behind[i].Store(delivered.Load())
			done <- struct{}{}
		} else {
			delivered.Add(1)
			inTheMiddle <- struct{}{}
		}
		return world.Outcome{Verdict: world.Done}
	})
	clock := worldtest.TickingClock(time.Millisecond)
	c := config(r, a)
	c.Clock = clock
	q := newQueue(t, r.Client, c)
	fill(t, q, due, func(i int) world.Message {
		m := flow("wrun_" + strconv.Itoa(i))
		m.Delay = time.Hour
		return m
	})
	clock.Add(2 * time.Hour)
	run(t, q)
	// The pending list is filled up to 256; in addition, each of 20 slots may have one, 8 are claimed in advance, and
	// for every four claimed messages one more is added, at most 128.
	const most = 256 + 20 + 8 + 128
	for i := range interactive {
		for range 200 {
			<-inTheMiddle
		}
		enqueue(t, q, flow("wrun_new_"+strconv.Itoa(i)))
		before := delivered.Load()
		<-done
		require.LessOrEqual(t, behind[i].Load()-before, int64(most))
	}
	require.Eventually(t, func() bool { return delivered.Load() == due }, 3*patience, 5*time.Millisecond)
	requireQuiet(t, r)
}

// However many new messages there are, and although the list never gets shorter, the due ones get their share.
func TestDueMessagesAreNotStarved(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		const waiting, late = 500, 10
		var due atomic.Int64
		var q *queue.Queue
		a := newApp(func(ctx context.Context, d world.Delivery) world.Outcome {
			if strings.HasPrefix(d.RunID, "wrun_due") {
				due.Add(1)
			} else if due.Load() < late { // for each one delivered another one comes
				if _, err := q.Enqueue(ctx, flow("wrun_new")); err != nil {
					return world.Outcome{Verdict: world.Failed, Reason: err.Error()}
				}
			}
			return world.Outcome{Verdict: world.Done}
		})
		clock := worldtest.TickingClock(time.Millisecond)
		c := config(r, a)
		c.Clock = clock
		q = newQueue(t, r.Client, c)
		for i := range late {
			m := flow("wrun_due_" + strconv.Itoa(i))
			m.Delay = time.Hour
			enqueue(t, q, m)
		}
		fill(t, q, waiting, func(int) world.Message { return flow("wrun_new") })
		clock.Add(2 * time.Hour)
		run(t, q)
		require.Eventually(t, func() bool { return due.Load() == late }, 3*patience, time.Millisecond)
		requireQuiet(t, r)
	})
}
