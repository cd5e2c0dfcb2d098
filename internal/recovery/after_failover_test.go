package recovery

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/redistest"
)

// fakeMasters are those of a Redis that may fail over, or not answer.
type fakeMasters struct {
	ids   []string
	err   error
	asked func() // called before each answer; nil disables it
}

func (m *fakeMasters) list(context.Context) ([]string, error) {
	if m.asked != nil {
		m.asked()
	}
	return m.ids, m.err
}

// A failover may lose the effect of a wake-up but not the queue's memory of it: the run is woken again under the new
// master, once. While the masters are not known it is woken as if they had not changed.
func TestARunIsWokenAgainAfterAFailover(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		b := newBundle(t, r)
		masters := &fakeMasters{ids: []string{"b", "a"}}
		b.cfg.Masters = masters.list
		runID := b.begin(3)
		wakes := func() []string {
			b.clock.Add(time.Minute)
			require.NoError(t, b.pass(t.Context()))
			return b.queue.woken()
		}
		require.Equal(t, []string{runID}, wakes())
		masters.ids = []string{"a", "b"}
		require.Empty(t, wakes(), "the same masters")
		masters.ids = []string{"a", "c"}
		require.Equal(t, []string{runID}, wakes())
		require.Empty(t, wakes())
		masters.err = errors.New("one is away")
		require.Equal(t, []string{runID}, wakes())
		require.Empty(t, wakes())
	})
}

// resumed creates a run whose hook has received a payload that the run has not processed. A failover leaves the same
// log if it takes back all that the run did with the payload, after its messages are done.
func (b *bundle) resumed(hook string) string {
	b.t.Helper()
	runID := b.approval(hook)
	b.event(runID, 3, world.EventHookReceived, hook, "token", "token of "+hook, "payload", []byte{1})
	return runID
}

// An app has acknowledged a delivery, and a failover takes back what it wrote: the log is as long as it was when the
// delivery began. The run is not parked, whenever the failover happened since that, and recovery wakes it.
func TestARunWhoseWorkWasTakenBackIsNotParked(t *testing.T) {
	t.Parallel()
	for _, when := range []string{"before the answer", "before the note is due", "while the log is compared", "nothing is known"} {
		t.Run(when, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
				b := newBundle(t, r)
				masters := &fakeMasters{ids: []string{"a"}}
				b.cfg.Masters = masters.list
				p := NewParker(b.store, ParkerConfig{Clock: b.clock, Masters: masters.list})
				require.NoError(t, p.lookAtMasters(t.Context()))
				runID := b.resumed("hook_1")
				b.clock.Add(time.Second)
				note := world.LogSeen{Events: b.length(runID), HooksOnly: true, At: b.clock.Now()}
				b.clock.Add(time.Second)
				failover := func() { masters.ids = []string{"b"} }
				switch when {
				case "before the answer":
					failover()
					p.LookedAt(runID, note)
				case "before the note is due":
					p.LookedAt(runID, note)
					failover()
				case "while the log is compared":
					p.LookedAt(runID, note)
					masters.asked = failover
				case "nothing is known":
					p.LookedAt(runID, note)
					masters.err = errors.New("one is away")
				}
				b.clock.Add(parkAfter)
				p.park(t.Context(), p.due(parkAfter))
				masters.asked, masters.err = nil, nil

				b.clock.Add(time.Minute)
				require.NoError(t, b.pass(t.Context()))
				require.Equal(t, []string{runID}, b.queue.woken())

				// The delivery of that wake-up begins under the new master.
				p.LookedAt(runID, world.LogSeen{Events: b.length(runID), HooksOnly: true, At: b.clock.Now()})
				b.clock.Add(parkAfter)
				p.park(t.Context(), p.due(parkAfter))
				require.True(t, b.idle(runID).MarkedIdle)
			})
		})
	}
}

// Recovery wakes a run as a precaution, and a failover takes back the wake-up or its work. The run is not parked
// before a wake-up under the present masters had nothing to do.
func TestAPrecautionIsRepeatedAfterAFailover(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		b := newBundle(t, r)
		masters := &fakeMasters{ids: []string{"a"}}
		b.cfg.Masters = masters.list
		runID := b.resumed("hook_1")
		pass := func() []string {
			b.clock.Add(time.Minute)
			require.NoError(t, b.pass(t.Context()))
			return b.queue.woken()
		}
		require.Equal(t, []string{runID}, pass())
		require.False(t, b.idle(runID).MarkedIdle, "the wake-up may get lost")
		masters.ids = []string{"b"}
		require.Equal(t, []string{runID}, pass())
		masters.err = errors.New("one is away")
		require.Equal(t, []string{runID}, pass(), "nothing is known")
		require.Empty(t, pass(), "the queue knows the request")
		require.False(t, b.idle(runID).MarkedIdle)
		masters.err = nil
		require.Empty(t, pass())
		require.True(t, b.idle(runID).MarkedIdle)
	})
}

// The last event of a log is a hook of the run's own, so the run is parked. After a failover it may lack what the run
// did next, such as a sleep beside the hook: it is woken first.
func TestALogThatMayLackItsEndIsNoReasonToPark(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		b := newBundle(t, r)
		masters := &fakeMasters{ids: []string{"a"}}
		b.cfg.Masters = masters.list
		pass := func() []string {
			b.clock.Add(time.Minute)
			require.NoError(t, b.pass(t.Context()))
			return b.queue.woken()
		}
		waiting := func(hook string) string {
			runID := b.begin(3)
			b.hook(runID, 3, hook)
			return runID
		}
		first := waiting("hook_1")
		require.Empty(t, pass(), "nothing is known of a failover")
		require.True(t, b.idle(first).MarkedIdle)

		second := waiting("hook_2")
		masters.ids = []string{"b"}
		require.Equal(t, []string{second}, pass())
		require.False(t, b.idle(second).MarkedIdle)
		require.Empty(t, pass())
		require.True(t, b.idle(second).MarkedIdle)

		b.clock.Add(time.Minute)
		third := waiting("hook_3")
		require.Empty(t, pass())
		require.True(t, b.idle(third).MarkedIdle, "it came after the failover")
	})
}
