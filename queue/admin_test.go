package queue_test

import (
	"context"
	"errors"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/redistest"
	"github.com/world-redis/world-redis/queue"
)

var _ world.QueueAdmin = (*queue.Queue)(nil)

// deadly is a queue whose app permanently refuses every message until it is mended.
func deadly(t *testing.T, r *redistest.Redis, change ...func(*queue.Config)) (q running, a *app, mend func()) {
	t.Helper()
	var mended atomic.Bool
	a = newApp(func(context.Context, world.Delivery) world.Outcome {
		if mended.Load() {
			return world.Outcome{Verdict: world.Done}
		}
		return world.Outcome{Verdict: world.Failed, Status: 500, Reason: "it is broken"}
	})
	c := config(r, a)
	c.Backoff.DeadAfter = 1
	for _, f := range change {
		f(&c)
	}
	return run(t, newQueue(t, r.Client, c)), a, func() { mended.Store(true) }
}

func awaitState(t testing.TB, q world.QueueAdmin, id string, state world.MessageState) world.MessageInfo {
	t.Helper()
	var info world.MessageInfo
	require.Eventually(t, func() bool {
		var err error
		info, err = q.GetMessage(context.Background(), id)
		return err == nil && info.State == state
	}, patience, time.Millisecond, "%s is not %s", id, state)
	return info
}

// A dead message is kept with its run and the reason; its key is free immediately (BR-19). Once the app is mended, the
// message can be redriven, without its earlier failures; redriven twice, it is delivered once.
func TestDeadMessageIsRedriven(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		q, a, mend := deadly(t, r)
		m := stepOf("wrun_1", "step_1")
		m.DeploymentID = "dpl_1"
		before := world.MillisOf(time.Now())
		id := enqueue(t, q, m)
		a.await(t, 1)
		info := awaitState(t, q, id, world.MessageDead)
		require.InDelta(t, float64(before), float64(info.EnqueuedAt), 10_000)
		require.GreaterOrEqual(t, info.EndedAt, info.EnqueuedAt)
		info.EnqueuedAt, info.EndedAt = 0, 0
		require.Equal(t, world.MessageInfo{
			MessageID: id, Kind: world.KindStep, QueueName: stepName, State: world.MessageDead, RunID: "wrun_1", StepID: "step_1", DeploymentID: "dpl_1",
			IdempotencyKey: "step_1", Attempt: 1, Failed: 1, Reason: "it is broken", Size: 4, ContentType: "application/cbor",
		}, info)
		require.False(t, outstanding(t, q.Queue, "wrun_1"))

		mend()
		require.NoError(t, q.PauseQueue(t.Context(), world.KindStep))
		got, err := q.Redrive(t.Context(), id)
		require.NoError(t, err)
		require.Equal(t, world.Redriven, got)
		require.True(t, outstanding(t, q.Queue, "wrun_1"))
		require.Equal(t, id, enqueue(t, q, m), "it has its key again")
		got, err = q.Redrive(t.Context(), id)
		require.NoError(t, err)
		require.Equal(t, world.RedriveNotDead, got)
		require.NoError(t, q.ResumeQueue(t.Context(), world.KindStep))
		a.await(t, 1)
		done := awaitState(t, q, id, world.MessageCompleted)
		require.Zero(t, done.Failed)
		require.Equal(t, []int{1, 2}, a.attempts(id), "the app has seen it: it is no first delivery")
		requireQuiet(t, r)
	})
}

// Another message has the key of a dead message by now: the dead one stays dead.
func TestRedriveLeavesAMessageWhoseKeyIsTaken(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		q, a, mend := deadly(t, r)
		id := enqueue(t, q, stepOf("wrun_1", "step_1"))
		a.await(t, 1)
		awaitState(t, q, id, world.MessageDead)
		mend()
		later := stepOf("wrun_1", "step_1")
		later.Delay = time.Hour
		holder := enqueue(t, q, later)
		require.NotEqual(t, id, holder)
		got, err := q.Redrive(t.Context(), id)
		require.NoError(t, err)
		require.Equal(t, world.RedriveKeyHeld, got)
		awaitState(t, q, id, world.MessageDead)
		require.Equal(t, holder, enqueue(t, q, stepOf("wrun_1", "step_1")))
		got, err = q.Redrive(t.Context(), "msg_unknown")
		require.NoError(t, err)
		require.Equal(t, world.RedriveNotDead, got)
	})
}

// The run of a message is failed before the message becomes dead. While the run cannot be failed, the message is
// retried; no run waits for a dead message.
func TestRunIsFailedBeforeItsMessageIsDead(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		type call struct {
			m      world.Message
			why    queue.Death
			reason string
		}
		failed := make(chan call, 10)
		var calls atomic.Int64
		q, a, _ := deadly(t, r, func(c *queue.Config) {
			c.RunDead = func(_ context.Context, m world.Message, why queue.Death, reason string) error {
				failed <- call{m, why, reason}
				if calls.Add(1) < 3 {
					return errors.New("no storage")
				}
				return nil
			}
		})
		m, ofNone := stepOf("wrun_1", "step_1"), world.Message{QueueName: flowName, Body: []byte("health"), ContentType: "text/plain"}
		waits := flow("wrun_1")
		waits.Delay = 860 * time.Second
		look := enqueue(t, q, waits)
		id := enqueue(t, q, m)
		a.await(t, 3)
		awaitState(t, q, id, world.MessageDead)
		require.Equal(t, []int{1, 2, 3}, a.attempts(id))
		require.Len(t, failed, 3)
		require.Equal(t, call{m, queue.Undeliverable, "it is broken"}, <-failed)
		require.Eventually(t, func() bool {
			_, err := q.GetMessage(context.Background(), look)
			return world.ErrorCode(err) == world.CodeNotFound
		}, patience, time.Millisecond, "the run has ended: nothing of it waits")
		awaitState(t, q, enqueue(t, q, ofNone), world.MessageDead)
		require.Equal(t, int64(3), calls.Load(), "a message without a run has none to fail")
	})
}

// BR-37: a run that has to write a value that is too large is failed at the first delivery that reports it. The message
// is then done, not dead: there is nothing to redrive. Until the run can be failed, the message is retried.
func TestBR37RunWithTooLargeAValueIsFailed(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		var calls atomic.Int64
		a := newApp(always(world.Outcome{Verdict: world.TooLarge, Status: 500, Reason: "9 bytes, the limit is 8", Sent: true}))
		c := config(r, a)
		c.Backoff.FailedFirst = time.Millisecond
		c.RunDead = func(_ context.Context, m world.Message, why queue.Death, reason string) error {
			if calls.Add(1) == 1 {
				return errors.New("no storage")
			}
			if m.RunID != "wrun_1" || why != queue.TooLarge || reason != "9 bytes, the limit is 8" {
				return errors.New("not what was said")
			}
			return nil
		}
		q := run(t, newQueue(t, r.Client, c))
		id := enqueue(t, q, stepOf("wrun_1", "step_1"))
		awaitState(t, q, id, world.MessageCompleted)
		require.Equal(t, []int{1, 2}, a.attempts(id))
		require.Equal(t, int64(2), calls.Load())
	})
}

// BR-53: a limited number of the last finished messages is kept, and nothing of the others is left. A large body is not
// kept at all.
func TestEndedMessagesAreTrimmedWithTheirBodies(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		const kept = 100
		a := newApp(always(world.Outcome{Verdict: world.Done}))
		q := start(t, r, a)
		var last string
		for i := range kept + 30 {
			last = enqueue(t, q, stepOf("wrun_"+strconv.Itoa(i), "step_1"))
			awaitState(t, q, last, world.MessageCompleted)
		}
		large := stepOf("wrun_1", "large")
		large.Body = make([]byte, 64<<10)
		gone := enqueue(t, q, large)
		a.await(t, kept+31)
		requireQuiet(t, r)
		_, err := q.GetMessage(t.Context(), gone)
		require.Equal(t, world.CodeNotFound, world.ErrorCode(err))
		steps := "asynq:{" + config(r, nil).JobPrefix + "steps}:"
		bodies, err := r.Keys(t.Context(), steps+"t:*")
		require.NoError(t, err)
		require.Len(t, bodies, kept)
		d, err := q.Depths(t.Context())
		require.NoError(t, err)
		require.Equal(t, int64(kept), d[1].Completed)
		page, err := q.ListMessages(t.Context(), world.MessageQuery{State: world.MessageCompleted, Page: world.PageRequest{Limit: 1}})
		require.NoError(t, err)
		require.Len(t, page.Data, 1)
		require.Equal(t, last, page.Data[0].MessageID)
		seen := map[string]bool{}
		for query := (world.MessageQuery{State: world.MessageCompleted, Page: world.PageRequest{Limit: 30}}); len(seen) < kept; {
			page, err := q.ListMessages(t.Context(), query)
			require.NoError(t, err)
			require.NotEmpty(t, page.Data)
			for _, m := range page.Data {
				require.False(t, seen[m.MessageID])
				seen[m.MessageID] = true
			}
			query.Page.Cursor = page.Cursor
		}
	})
}

// Of the dead messages the last thousand are kept; older ones are removed with their bodies.
func TestDeadMessagesAreTrimmedWithTheirBodies(t *testing.T) {
	t.Parallel()
	r := redistest.New(t)
	q, a, _ := deadly(t, r)
	for i := range 1100 {
		enqueue(t, q, stepOf("wrun_1", strconv.Itoa(i)))
	}
	a.await(t, 1100)
	require.Eventually(t, func() bool {
		d, err := q.Depths(context.Background())
		return err == nil && d[1].Active == 0 && d[1].Pending == 0
	}, patience, time.Millisecond)
	bodies, err := r.Keys(t.Context(), "asynq:{"+config(r, nil).JobPrefix+"steps}:t:*")
	require.NoError(t, err)
	require.Len(t, bodies, 1000)
	require.Empty(t, r.Client.HGetAll(t.Context(), r.Prefix+"queue:{"+config(r, nil).JobPrefix+"steps}:idempotency").Val())
}

// The pages cover all states and both queues, and show every message once.
func TestMessagesAreListedInPages(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		q := newQueue(t, r.Client, config(r, newApp(nil)))
		want := map[string]world.MessageState{}
		for i := range 25 {
			want[enqueue(t, q, stepOf("wrun_1", strconv.Itoa(i)))] = world.MessagePending
			m := flow("wrun_2")
			m.Delay = time.Hour
			want[enqueue(t, q, m)] = world.MessageScheduled
		}
		list := func(query world.MessageQuery) map[string]world.MessageState {
			got := map[string]world.MessageState{}
			for {
				page, err := q.ListMessages(t.Context(), query)
				require.NoError(t, err)
				for _, m := range page.Data {
					require.NotContains(t, got, m.MessageID)
					got[m.MessageID] = m.State
				}
				if !page.HasMore {
					return got
				}
				query.Page.Cursor = page.Cursor
			}
		}
		require.Equal(t, want, list(world.MessageQuery{Page: world.PageRequest{Limit: 7}}))
		require.Len(t, list(world.MessageQuery{State: world.MessageScheduled, Page: world.PageRequest{Limit: 3}}), 25)
		require.Len(t, list(world.MessageQuery{Kind: world.KindStep}), 25)
		require.Len(t, list(world.MessageQuery{RunID: "wrun_2"}), 25)
		require.Empty(t, list(world.MessageQuery{State: world.MessageParked}))
		for _, bad := range []string{"x", "1", "-1_", "1_x", "2_1/x", "2_x/1", "1_-4"} {
			_, err := q.ListMessages(t.Context(), world.MessageQuery{Page: world.PageRequest{Cursor: bad}})
			require.Equal(t, world.CodeInvalid, world.ErrorCode(err), bad)
		}
		of, err := q.RunMessages(t.Context(), "wrun_2")
		require.NoError(t, err)
		require.Len(t, of, 25)
		require.InDelta(t, time.Hour.Seconds(), time.Until(of[0].NextAt.Time()).Seconds(), 60)
	})
}

// A list of messages shows little of each, but has to read them whole. It reads a few at a time, and a page reads a
// limited number of bytes.
func TestListsOfLargeMessages(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	r := &redistest.Redis{Client: redistest.Client(t, server.Addr), Addr: server.Addr, Prefix: "large:"}
	q := newQueue(t, r.Client, config(r, newApp(nil)))
	used := func(field string) int {
		info, err := r.Client.InfoMap(t.Context(), "memory").Result()
		require.NoError(t, err)
		n, err := strconv.Atoi(info["Memory"][field])
		require.NoError(t, err)
		return n
	}
	want := map[string]bool{}
	for i := range 32 {
		m := flow("wrun_1")
		m.Delay = time.Hour
		m.Body = make([]byte, 3<<20)
		if i%4 == 0 {
			m = stepOf("wrun_1", strconv.Itoa(i))
			m.Body = make([]byte, 9<<20)
		}
		want[enqueue(t, q, m)] = true
	}
	before := used("used_memory")
	got, pages := map[string]bool{}, 0
	for query, more := (world.MessageQuery{}), true; more; pages++ {
		page, err := q.ListMessages(t.Context(), query)
		require.NoError(t, err)
		for _, m := range page.Data {
			require.NotContains(t, got, m.MessageID)
			require.Contains(t, []int{3 << 20, 9 << 20}, m.Size)
			got[m.MessageID] = true
		}
		query.Page.Cursor, more = page.Cursor, page.HasMore
	}
	require.Equal(t, want, got)
	require.GreaterOrEqual(t, pages, 8+12, "each large one by itself, and two of the others at a time")
	of, err := q.RunMessages(t.Context(), "wrun_1")
	require.NoError(t, err)
	require.Len(t, of, 32)
	require.Less(t, used("used_memory_peak")-before, 64<<20)
}

// The messages of a run say why it waits: for which deployment, and since when.
func TestRunMessagesSayWhatTheRunWaitsFor(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		c := config(r, newApp(nil))
		c.BaseURL = ""
		q := run(t, newQueue(t, r.Client, c))
		m := flow("wrun_1")
		m.DeploymentID = "dpl_7"
		id := enqueue(t, q, m)
		awaitState(t, q, id, world.MessageWaitingForApp)
		of, err := q.RunMessages(t.Context(), "wrun_1")
		require.NoError(t, err)
		require.Len(t, of, 1)
		require.Equal(t, "dpl_7", of[0].WaitsFor)
		require.Contains(t, of[0].Reason, `no app of deployment "dpl_7"`)
		require.Positive(t, of[0].NextAt)
		require.Equal(t, 1, of[0].Attempt)
	})
}

// A pause applies to every replica, and its end takes effect immediately.
func TestPausedQueueDeliversNothing(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		a := newApp(always(world.Outcome{Verdict: world.Done}))
		start(t, r, a)
		other := newQueue(t, r.Client, config(r, newApp(nil)))
		require.NoError(t, other.PauseQueue(t.Context(), world.KindStep))
		require.NoError(t, other.PauseQueue(t.Context(), world.KindStep))
		paused := enqueue(t, other, stepOf("wrun_1", "step_1"))
		goes := enqueue(t, other, flow("wrun_1"))
		a.await(t, 1)
		require.Equal(t, goes, a.seen()[0].MessageID, "the other queue goes on")
		d, err := other.QueueDepths(t.Context())
		require.NoError(t, err)
		require.Equal(t, []bool{false, true}, []bool{d[0].Paused, d[1].Paused})
		require.Zero(t, d[0].Oldest)
		require.InDelta(t, float64(time.Now().UnixMilli()), float64(d[1].Oldest), 60_000)
		awaitState(t, other, paused, world.MessagePending)
		require.NoError(t, other.ResumeQueue(t.Context(), world.KindStep))
		a.await(t, 1)
		requireQuiet(t, r)
	})
}
