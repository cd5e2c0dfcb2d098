package queue

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/redistest"
	"github.com/world-redis/world-redis/queue/internal/apps"
	"github.com/world-redis/world-redis/queue/internal/lane"
)

// soon is how long a test waits: less than [lane.ParkTime], after which a run that cools down is looked at in any case.
const soon = lane.ParkTime - 2*time.Second

// cooling is a v4 app that holds steps until they are released, and reports each delivery.
type cooling struct {
	*Queue
	flows, steps chan world.Delivery
	held         chan struct{}
}

// letGo lets the steps end.
func (a cooling) letGo() {
	select {
	case <-a.held:
	default:
		close(a.held)
	}
}

func newCooling(t *testing.T, r *redistest.Redis, cooldownFor func(time.Duration, int64) time.Duration) cooling {
	t.Helper()
	a := cooling{flows: make(chan world.Delivery, 100), steps: make(chan world.Delivery, 100), held: make(chan struct{})}
	a.Queue = replica(t, r, nil, func(d world.Delivery) world.Outcome {
		if d.Kind == world.KindStep {
			a.steps <- d
			<-a.held
		} else {
			a.flows <- d
		}
		return world.Outcome{Verdict: world.Done}
	})
	a.cooldownFor = cooldownFor
	require.NoError(t, a.RegisterApp(t.Context(), world.App{BaseURL: "http://app", SDK: apps.SDKv4}))
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx) }()
	t.Cleanup(func() {
		a.letGo()
		stop()
		require.NoError(t, <-ended)
	})
	return a
}

func (a cooling) enqueue(t *testing.T, m world.Message) {
	t.Helper()
	m.ContentType, m.Body = "application/json", []byte("{}")
	_, err := a.Enqueue(t.Context(), m)
	require.NoError(t, err)
}

func (a cooling) wake(t *testing.T, run string) {
	t.Helper()
	a.enqueue(t, world.Message{QueueName: "__wkf_workflow_x", RunID: run, Plain: true})
}

// begin starts a run of three steps, which do not end before they are released.
func (a cooling) begin(t *testing.T, run string) {
	t.Helper()
	for i := range 3 {
		a.enqueue(t, world.Message{QueueName: "__wkf_step_x", RunID: run, StepID: fmt.Sprint("step_", i)})
		arrives(t, a.steps)
	}
	a.enqueue(t, world.Message{QueueName: "__wkf_workflow_x", RunID: run}) // the one that starts a run is not a plain wake-up
	arrives(t, a.flows)
	require.Eventually(t, func() bool { return a.depth(t).Active == 0 }, soon, time.Millisecond)
}

func (a cooling) depth(t *testing.T) world.QueueDepth {
	t.Helper()
	d, err := a.Depths(context.WithoutCancel(t.Context()))
	require.NoError(t, err)
	return d[0]
}

func (a cooling) awaitParked(t *testing.T) {
	t.Helper()
	require.Eventually(t, func() bool {
		d := a.depth(t)
		return d.Scheduled == 1 && d.Pending+d.Active == 0
	}, soon, time.Millisecond)
}

func arrives(t *testing.T, deliveries chan world.Delivery) world.Delivery {
	t.Helper()
	select {
	case d := <-deliveries:
		return d
	case <-time.After(soon):
		require.FailNow(t, "no delivery")
		return world.Delivery{}
	}
}

// A thousand parallel steps on SDK v4: a replay takes as long as dozens of steps, and if each step that ended caused
// the next replay, the run would take hours. After a long replay a run cools down until its steps have ended: then all
// of their wake-ups are one, delivered immediately.
func TestRunCoolsDownAfterALongReplayUntilItsStepsHaveEnded(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		a := newCooling(t, r, func(_ time.Duration, steps int64) time.Duration { return time.Duration(min(steps, 1)) * time.Hour })
		a.begin(t, "wrun_1")
		for range 3 {
			a.wake(t, "wrun_1")
			a.awaitParked(t)
		}
		a.wake(t, "wrun_2") // it has no steps, and does not rest
		require.Equal(t, "wrun_2", arrives(t, a.flows).RunID)
		a.awaitParked(t)
		a.letGo()
		require.Equal(t, "wrun_1", arrives(t, a.flows).RunID)
		require.Eventually(t, func() bool {
			d := a.depth(t)
			return d.Scheduled+d.Pending+d.Active == 0
		}, soon, time.Millisecond)
		require.Empty(t, a.flows)
		keys, err := r.Keys(t.Context(), a.Queue.flows.Keys.CoolingDown+"*")
		require.NoError(t, err)
		require.Empty(t, keys)
	})
}

// A run whose steps take longer than its replay does not wait for them: Promise.race, or consecutive steps beside many
// others.
func TestRunCoolsDownNoLongerThanItsReplayTook(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		a := newCooling(t, r, func(time.Duration, int64) time.Duration { return 300 * time.Millisecond })
		a.begin(t, "wrun_1")
		a.wake(t, "wrun_1")
		require.Equal(t, "wrun_1", arrives(t, a.flows).RunID)
	})
}

// The replica that lets a run cool down dies: the run continues.
func TestCooldownOfADeadReplicaEnds(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		a := newCooling(t, r, cooldownFor)
		coolsDown := a.Queue.flows.Keys.CoolingDown + "wrun_1"
		require.NoError(t, r.Client.Set(t.Context(), coolsDown, "1", 0).Err())
		a.wake(t, "wrun_1")
		a.awaitParked(t)
		require.NoError(t, r.Client.Del(t.Context(), coolsDown).Err()) // as when it lapses
		require.Equal(t, "wrun_1", arrives(t, a.flows).RunID)
	})
}

// The numbers: after a usual replay the next one follows immediately.
func TestCooldownIsAsLongAsTheReplay(t *testing.T) {
	t.Parallel()
	for took, want := range map[time.Duration]time.Duration{
		0: 0, 999 * time.Millisecond: 0, time.Second: time.Second, 50 * time.Second: 50 * time.Second, time.Hour: cooldownLongest,
	} {
		require.Equal(t, want, cooldownFor(took, cooldownSteps), took)
		require.Zero(t, cooldownFor(took, cooldownSteps-1), "few steps, %s", took)
	}
}
