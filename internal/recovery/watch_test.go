package recovery

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/redistest"
)

// passes makes a pass every interval, for so long, and returns the runs that were woken.
func (b *bundle) passes(d time.Duration) []string {
	b.t.Helper()
	for end := b.clock.Now().Add(d); b.clock.Now().Before(end); b.clock.Add(b.cfg.Every) {
		require.NoError(b.t, b.pass(b.t.Context()))
	}
	return b.queue.woken()
}

// Once a run is known to be parked it is no longer checked, whatever happens elsewhere. A payload changes that: if its
// wake-up is lost, the run is woken as soon as any other.
func TestAParkedRunIsNotLookedAtUntilSomethingComes(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		b := newBundle(t, r)
		runID := b.begin(7)
		b.hook(runID, 7, "hook_1")
		require.Empty(t, b.passes(5*time.Minute))
		looks := b.queue.looks
		require.NotZero(t, looks)
		require.Empty(t, b.passes(24*time.Hour))
		require.Equal(t, looks, b.queue.looks)

		b.event(runID, 7, world.EventHookReceived, "hook_1", "token", "token of hook_1", "payload", []byte{1})
		require.Equal(t, []string{runID}, b.passes(2*time.Minute))
		require.Empty(t, b.passes(5*time.Minute))
		looks = b.queue.looks
		require.Empty(t, b.passes(24*time.Hour))
		require.Equal(t, looks, b.queue.looks, "it is parked again")
	})
}

// A parked run whose step is still in progress is not parked for good: if the wake-up after the step is lost, the run
// is woken.
func TestARunThatIsAtRestBesideAMessageIsLookedAtAgain(t *testing.T) {
	t.Parallel()
	b := newBundle(t, redistest.New(t))
	runID := b.begin(7)
	b.hook(runID, 7, "hook_1")
	b.event(runID, 7, world.EventStepCreated, "step_1", "stepName", "s", "input", []byte{1})
	b.event(runID, 7, world.EventStepStarted, "step_1")
	require.NoError(t, b.store.MarkIdle(t.Context(), runID, 5))
	b.queue.busy[runID] = true
	require.Empty(t, b.passes(time.Hour))
	b.event(runID, 7, world.EventStepCompleted, "step_1", "result", []byte{1})
	b.queue.busy[runID] = false
	require.Equal(t, []string{runID}, b.passes(2*time.Minute))
}

// The step of a parked run ends, and its wake-up is lost, between the check of the run and the check of its messages.
func TestARunThatGoesOnWhileItIsLookedAtIsNotParked(t *testing.T) {
	t.Parallel()
	b := newBundle(t, redistest.New(t))
	runID := b.begin(7)
	b.hook(runID, 7, "hook_1")
	b.event(runID, 7, world.EventStepCreated, "step_1", "stepName", "s", "input", []byte{1})
	b.event(runID, 7, world.EventStepStarted, "step_1")
	require.NoError(t, b.store.MarkIdle(t.Context(), runID, 5))
	b.queue.meanwhile = func() {
		b.event(runID, 7, world.EventStepCompleted, "step_1", "result", []byte{1})
		b.queue.meanwhile = nil
	}
	b.clock.Add(time.Minute)
	require.Equal(t, []string{runID}, b.passes(3*time.Minute))
}

// A run that sleeps for a day is checked once an hour, and when its message is due. If the message is lost, the run is
// woken as soon as any other.
func TestARunThatSleepsIsLookedAtWhenItsMessageIsDue(t *testing.T) {
	t.Parallel()
	b := newBundle(t, redistest.New(t))
	runID := b.begin(7)
	b.event(runID, 7, world.EventWaitCreated, "wait_1", "resumeAt", 1_900_000_000_000)
	b.queue.due[runID] = world.MillisOf(b.clock.Now().Add(24*time.Hour - 20*time.Minute))
	require.Empty(t, b.passes(24*time.Hour-20*time.Minute))
	require.LessOrEqual(t, b.queue.looks, 26)
	delete(b.queue.due, runID)
	require.Equal(t, []string{runID}, b.passes(2*time.Minute))
}

// With a long grace period a run is checked before it ends, and woken when it is over.
func TestALongGrace(t *testing.T) {
	t.Parallel()
	r := redistest.New(t)
	b := newBundle(t, r)
	b.Reconciler = New(b.store, b.queue, Config{Clock: b.clock, Grace: 10 * time.Minute})
	var runIDs []string
	for range batch + 1 {
		runIDs = append(runIDs, b.begin(3))
	}
	require.Empty(t, b.passes(10*time.Minute))
	require.Less(t, b.queue.looks, 3*len(runIDs))
	require.Equal(t, runIDs, b.passes(time.Minute))
}
