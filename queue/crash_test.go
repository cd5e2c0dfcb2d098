package queue_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/rediskey"
	"github.com/world-redis/world-redis/internal/redistest"
	"github.com/world-redis/world-redis/internal/worldtest"
	"github.com/world-redis/world-redis/queue"
)

// deaths are the runs that the queue has failed.
type deaths struct {
	mu   sync.Mutex
	said []string
}

func (d *deaths) dead(_ context.Context, m world.Message, why queue.Death, reason string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.said = append(d.said, fmt.Sprintf("%s: %s: %s", m.RunID, why, reason))
	return nil
}

func (d *deaths) all() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]string(nil), d.said...)
}

// crashing starts n replicas in front of one process.
func crashing(t *testing.T, r *redistest.Redis, p *process, replicas int) (qs []running, dead *deaths, said *worldtest.Log) {
	t.Helper()
	dead, said = &deaths{}, &worldtest.Log{}
	for range replicas {
		c := config(r, p)
		c.RunDead, c.Logger = dead.dead, said.Logger()
		c.Backoff.CrashFirst, c.Backoff.CrashMax = p.crashFirst, max(p.crashFirst, 2*time.Millisecond)
		q := newQueue(t, r.Client, c)
		q.HurrySuspects(p.alone, 50*time.Millisecond)
		qs = append(qs, run(t, q))
	}
	return qs, dead, said
}

const fatalReason = "wrun_bomb: fatal: the app's process ended 15 times during this delivery"

// A workflow that ends the app's process is given up after three crashes that make it a suspect and fifteen charged
// ones. Other runs complete, those from before and new ones.
func TestRunThatEndsTheProcessIsFailed(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		p := newProcess(func(ctx context.Context, p *process, d world.Delivery) world.Outcome {
			if d.RunID == "wrun_bomb" {
				return p.kill()
			}
			return p.lasts(ctx, time.Millisecond)
		})
		qs, dead, said := crashing(t, r, p, 1)
		enqueue(t, qs[0], flow("wrun_bomb"))
		enqueue(t, qs[0], flow("wrun_1"))
		require.Eventually(t, func() bool { return len(dead.all()) > 0 }, patience, time.Millisecond)
		enqueue(t, qs[0], flow("wrun_2"))
		requireQuiet(t, r)
		require.Equal(t, []string{fatalReason}, dead.all())
		_, begun := p.count()
		require.Equal(t, 18, begun["wrun_bomb"])
		require.Equal(t, 1, said.Count("level=ERROR"))
		require.Equal(t, 1, said.Count("level=ERROR msg=\"a run was failed, because the app's process ended again and again"))
		require.Equal(t, 1, said.Count("are delivered one at a time"))
		require.Equal(t, 1, said.Count("no message is suspected"))
	})
}

// Beside a workflow that crashes the process there are twenty runs with long deliveries, and ten long steps: each of
// them is affected by at most the three crashes before there are suspects, so that the SDK, which fails a step at its
// fourth start, fails none. Two replicas share the deliveries.
func TestLongDeliveriesBesideABombMeetThreeCrashesAtMost(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		p := newProcess(func(ctx context.Context, p *process, d world.Delivery) world.Outcome {
			switch {
			case d.RunID == "wrun_bomb":
				// The others have begun by then.
				if o := p.lasts(ctx, 20*time.Millisecond); o == broken {
					return o
				}
				return p.kill()
			case d.Kind == world.KindStep:
				return p.lasts(ctx, 200*time.Millisecond)
			default:
				return p.lasts(ctx, 100*time.Millisecond)
			}
		})
		qs, dead, said := crashing(t, r, p, 2)
		for i := range 20 {
			enqueue(t, qs[i%2], flow(fmt.Sprintf("wrun_%d", i)))
		}
		for i := range 10 {
			enqueue(t, qs[i%2], stepOf(fmt.Sprintf("wrun_step_%d", i), "step"))
		}
		enqueue(t, qs[0], flow("wrun_bomb"))
		requireQuiet(t, r)
		require.Equal(t, []string{fatalReason}, dead.all())
		ends, begun := p.count()
		t.Log(ends, begun)
		for runID, n := range begun {
			if runID != "wrun_bomb" {
				require.LessOrEqual(t, n, 4, runID)
			}
		}
		require.Equal(t, 1, said.Count("are delivered one at a time"))
	})
}

// crashesThrice ends the process three times, each time when it has n deliveries, and then passes them to the next
// handler.
func crashesThrice(n int, then func(ctx context.Context, d world.Delivery) world.Outcome) func(context.Context, *process, world.Delivery) world.Outcome {
	return func(ctx context.Context, p *process, d world.Delivery) world.Outcome {
		p.mu.Lock()
		ends, all, ended := p.ends, len(p.inHand) == n, p.ended
		p.mu.Unlock()
		switch {
		case ends >= 3:
			return then(ctx, d)
		case all:
			return p.kill()
		}
		<-ended
		return broken
	}
}

// Suspects are delivered one at a time, by two replicas together, until they are answered.
func TestSuspectsAreDeliveredOneAtATime(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		var inHand, most atomic.Int32
		release := make(chan struct{})
		var refused sync.Map
		p := newProcess(crashesThrice(5, func(ctx context.Context, d world.Delivery) world.Outcome {
			if _, again := refused.LoadOrStore(d.MessageID, true); again {
				if d.Attempt != 2 {
					return world.Outcome{Verdict: world.Failed, Reason: "a crash was charged"}
				}
				return world.Outcome{Verdict: world.Done}
			}
			if n := inHand.Add(1); n > most.Load() {
				most.Store(n)
			}
			defer inHand.Add(-1)
			select {
			case <-release:
			case <-ctx.Done():
				return broken
			}
			return world.Outcome{Verdict: world.Failed, Status: 500, Reason: "no"}
		}))
		p.alone = time.Hour
		qs, dead, said := crashing(t, r, p, 2)
		var ids []string
		for i := range 5 {
			ids = append(ids, enqueue(t, qs[i%2], flow(fmt.Sprintf("wrun_%d", i))))
		}
		waiting := func() int {
			n := 0
			for _, id := range ids {
				if m, err := qs[0].GetMessage(context.Background(), id); err == nil && m.State == world.MessageRetry && strings.Contains(m.Reason, "waits for its turn") {
					n++
				}
			}
			return n
		}
		require.Eventually(t, func() bool { return waiting() == 4 }, patience, time.Millisecond)
		for range 5 {
			release <- struct{}{}
		}
		require.Equal(t, int32(1), most.Load())
		requireQuiet(t, r)
		require.Equal(t, 1, said.Count("no message is suspected"))
		_, begun := p.count()
		require.Equal(t, map[string]int{"wrun_0": 5, "wrun_1": 5, "wrun_2": 5, "wrun_3": 5, "wrun_4": 5}, begun)
		require.Equal(t, 1, said.Count("are delivered one at a time until"), "one replica says so")
		require.Equal(t, 1, said.Count("messages=5"))
		require.Empty(t, dead.all())
	})
}

// A replica dies during the delivery of a suspect: once the lease of its message has lapsed, another one continues.
func TestTurnOfASuspectEndsWithItsReplica(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		link, release := newLink(t, r), make(chan struct{})
		arrived := make(chan string, 10)
		first := newProcess(crashesThrice(2, func(_ context.Context, d world.Delivery) world.Outcome {
			arrived <- d.MessageID
			<-release
			return broken
		}))
		dead, said := &deaths{}, &worldtest.Log{}
		c := config(r, first)
		c.RunDead, c.Logger = dead.dead, said.Logger()
		q := newQueue(t, link.UniversalClient, c)
		q.HurrySuspects(time.Hour, time.Hour)
		q1 := run(t, q)
		enqueue(t, q1, flow("wrun_1"))
		enqueue(t, q1, flow("wrun_2"))
		var id string
		select {
		case id = <-arrived:
		case <-time.After(patience):
			require.FailNow(t, "no suspect is delivered")
		}
		link.sever()

		second := newApp(always(world.Outcome{Verdict: world.Done}))
		c.Deliverer = second
		other := newQueue(t, r.Client, c)
		other.HurrySuspects(time.Hour, time.Hour)
		require.NoError(t, r.Client.ZAdd(t.Context(), "asynq:{"+c.JobPrefix+"flows}:lease", redis.Z{Score: 1, Member: id}).Err())
		run(t, other)
		second.await(t, 2)
		requireQuiet(t, r)
		close(release)
		link.mend()
		q1.stop()
		require.Empty(t, dead.all())
	})
}

// A proxy cuts connections while the app's process continues, or the app was stopped after it had unregistered, or it
// sometimes answers: no message is a suspect, and no run is failed.
func TestBreaksThatAreNoCrashesSuspectNobody(t *testing.T) {
	t.Parallel()
	r := redistest.New(t)
	t.Run("proxy", func(t *testing.T) {
		t.Parallel()
		r := redistest.New(t)
		p := newProcess(endsUntil(30))
		p.hidden = true
		requireNoSuspect(t, r, p, nil)
	})
	t.Run("good-bye", func(t *testing.T) {
		t.Parallel()
		r := redistest.New(t)
		p := newProcess(endsUntil(30))
		requireNoSuspect(t, r, p, func(q *queue.Queue) {
			a := world.App{BaseURL: "http://app", DeploymentID: "dpl_1", Lease: time.Minute}
			register(t, q, a)
			require.NoError(t, q.UnregisterApp(t.Context(), a.BaseURL, a.DeploymentID))
		})
	})
	t.Run("answers", func(t *testing.T) {
		t.Parallel()
		var n atomic.Int32
		p := newProcess(func(_ context.Context, p *process, _ world.Delivery) world.Outcome {
			switch n := n.Add(1); {
			case n > 30:
				return world.Outcome{Verdict: world.Done}
			case n%3 == 0:
				return world.Outcome{Verdict: world.Reschedule}
			default:
				return p.kill()
			}
		})
		requireNoSuspect(t, r, p, nil)
	})
}

// endsUntil ends the process n times and then acknowledges.
func endsUntil(n int) func(context.Context, *process, world.Delivery) world.Outcome {
	return func(_ context.Context, p *process, _ world.Delivery) world.Outcome {
		if ends, _ := p.count(); ends >= n {
			return world.Outcome{Verdict: world.Done}
		}
		return p.kill()
	}
}

func requireNoSuspect(t *testing.T, r *redistest.Redis, p *process, prepare func(*queue.Queue)) {
	t.Helper()
	qs, dead, said := crashing(t, r, p, 1)
	if prepare != nil {
		prepare(qs[0].Queue)
	}
	enqueue(t, qs[0], flow("wrun_1"))
	requireQuiet(t, r)
	ends, _ := p.count()
	require.GreaterOrEqual(t, ends, 20)
	require.Empty(t, dead.all())
	require.Zero(t, said.Count("are delivered one at a time until"))
}

// From the fifth charged crash on, the next delivery waits, and no registration brings it forward.
func TestSuspectWaitsLongerFromTheFifthCrashOn(t *testing.T) {
	t.Parallel()
	r := redistest.New(t)
	p := newProcess(func(_ context.Context, p *process, _ world.Delivery) world.Outcome { return p.kill() })
	p.crashFirst = time.Hour
	qs, _, _ := crashing(t, r, p, 1)
	id := enqueue(t, qs[0], flow("wrun_bomb"))
	waits := func() bool {
		m, err := qs[0].GetMessage(context.Background(), id)
		return err == nil && m.State == world.MessageRetry && m.NextAt > world.MillisOf(time.Now().Add(40*time.Minute))
	}
	require.Eventually(t, waits, patience, time.Millisecond)
	register(t, qs[0].Queue, world.App{BaseURL: "http://app", DeploymentID: "dpl_1"})
	require.True(t, waits())
	ends, _ := p.count()
	require.Equal(t, 3+5, ends)
	m, err := qs[0].GetMessage(t.Context(), id)
	require.NoError(t, err)
	require.Equal(t, "the app's process ended during this delivery, 8 times in a row; EOF", m.Reason)
	require.Zero(t, m.Failed)
}

// The SDK itself gives up a step that ends the process at every delivery. Until then it does not delay the flows that
// it made suspects.
func TestStepThatEndsTheProcessHoldsUpNoSuspect(t *testing.T) {
	t.Parallel()
	r := redistest.New(t)
	var done atomic.Bool
	p := newProcess(func(_ context.Context, p *process, d world.Delivery) world.Outcome {
		p.mu.Lock()
		ends, both, ended := p.ends, len(p.inHand) == 2, p.ended
		p.mu.Unlock()
		switch {
		case d.Kind == world.KindFlow && ends >= 3:
			done.Store(true)
			return world.Outcome{Verdict: world.Done}
		case d.Kind == world.KindStep && done.Load():
			return world.Outcome{Verdict: world.Done}
		case both, d.Kind == world.KindStep && ends >= 3:
			return p.kill()
		}
		<-ended
		return broken
	})
	qs, dead, _ := crashing(t, r, p, 1)
	enqueue(t, qs[0], flow("wrun_1"))
	enqueue(t, qs[0], stepOf("wrun_2", "step_1"))
	requireQuiet(t, r)
	require.Empty(t, dead.all())
}

// A suspect in delivery is waited for from the start of its turn, however long ago the crash was that made it one.
func TestSuspectIsWaitedForFromItsTurnOn(t *testing.T) {
	t.Parallel()
	r := redistest.New(t)
	key := r.Prefix + "queue:{" + config(r, nil).JobPrefix + "flows}:interrupted:" + rediskey.Part("http://app")
	var once sync.Once
	p := newProcess(crashesThrice(5, nil))
	thrice := p.does
	p.does = func(ctx context.Context, p *process, d world.Delivery) world.Outcome {
		if ends, _ := p.count(); ends < 3 {
			return thrice(ctx, p, d)
		}
		once.Do(func() { // as if it were an hour later
			for _, id := range r.Client.ZRange(t.Context(), key, 0, -1).Val() {
				if id != d.MessageID {
					r.Client.ZAddXX(t.Context(), key, redis.Z{Score: 1, Member: id})
				}
			}
		})
		if d.RunID == "wrun_bomb" {
			return p.kill()
		}
		return p.lasts(ctx, 300*time.Millisecond)
	}
	qs, dead, _ := crashing(t, r, p, 1)
	for i := range 4 {
		enqueue(t, qs[0], flow(fmt.Sprintf("wrun_%d", i)))
	}
	enqueue(t, qs[0], flow("wrun_bomb"))
	requireQuiet(t, r)
	require.Equal(t, []string{fatalReason}, dead.all())
	_, begun := p.count()
	require.Equal(t, map[string]int{"wrun_0": 4, "wrun_1": 4, "wrun_2": 4, "wrun_3": 4, "wrun_bomb": 18}, begun)
}
