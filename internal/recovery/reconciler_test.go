package recovery

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/redistest"
)

// BR-29: in any state of a run, if nothing is left that will wake it, it is woken once, with the message that its SDK
// understands.
func TestForgottenRunsAreWokenOnce(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		b := newBundle(t, r)
		started := b.begin(3)
		inStep := b.begin(7)
		b.event(inStep, 7, world.EventStepCreated, "step_1", "stepName", "s", "input", []byte{1})
		stepDone := b.begin(3)
		b.event(stepDone, 3, world.EventStepCreated, "step_1", "stepName", "s", "input", []byte{1})
		b.event(stepDone, 3, world.EventStepStarted, "step_1")
		b.event(stepDone, 3, world.EventStepCompleted, "step_1", "result", []byte{1})
		besideHook := b.begin(7)
		b.event(besideHook, 7, world.EventWaitCreated, "wait_1", "resumeAt", 1_900_000_000_000)
		b.hook(besideHook, 7, "hook_1")
		unread := b.begin(7) // the wake-up of a payload was lost
		b.hook(unread, 7, "hook_2")
		b.event(unread, 7, world.EventHookReceived, "hook_2", "token", "token of hook_2", "payload", []byte{1})
		busy := b.begin(3)
		b.queue.busy[busy] = true

		require.NoError(t, b.pass(t.Context()))
		require.Empty(t, b.queue.woken(), "all of them were busy just before")

		b.clock.Add(time.Minute)
		require.NoError(t, b.pass(t.Context()))
		messages := b.queue.messages
		require.Equal(t, []string{started, inStep, stepDone, besideHook, unread}, b.queue.woken())
		require.Equal(t, world.Message{
			QueueName: "__wkf_workflow_workflow//./a//f", Body: append([]byte{0xa1, 0x65}, append([]byte("runId\x78\x1f"), started...)...),
			ContentType: "application/cbor", DeploymentID: "dpl_1", RequestID: "recover " + started + " 2", RunID: started, SDK: "v4", Plain: true,
		}, messages[0])
		require.Equal(t, `{"runId":"`+inStep+`"}`, string(messages[1].Body))
		require.Equal(t, "application/json", messages[1].ContentType)

		require.NoError(t, b.pass(t.Context()))
		require.Empty(t, b.queue.woken(), "once")
		b.event(stepDone, 3, world.EventStepCreated, "step_2", "stepName", "s", "input", []byte{1})
		b.clock.Add(time.Minute)
		require.NoError(t, b.pass(t.Context()))
		require.Equal(t, []string{stepDone}, b.queue.woken(), "it went on and was forgotten once more")
	})
}

// BR-27: runs that wait only for their hooks are left alone, however often replicas boot; the log of each is read once.
func TestParkedRunsAreLeftAlone(t *testing.T) {
	t.Parallel()
	r := redistest.New(t)
	b := newBundle(t, r)
	for range 3 {
		runID := b.begin(7)
		b.event(runID, 7, world.EventStepCreated, "step_1", "stepName", "s", "input", []byte{1})
		b.event(runID, 7, world.EventStepStarted, "step_1")
		b.event(runID, 7, world.EventStepCompleted, "step_1", "result", []byte{1})
		b.hook(runID, 7, "hook_of_"+runID)
	}
	b.clock.Add(time.Hour)
	for range 5 {
		require.NoError(t, b.pass(t.Context()))
	}
	require.Empty(t, b.queue.woken())
	runs, err := b.store.ListRuns(t.Context(), world.RunQuery{})
	require.NoError(t, err)
	idles, err := b.store.RunsIdle(t.Context(), []string{runs.Data[0].RunID})
	require.NoError(t, err)
	require.Equal(t, world.RunIdle{Events: 6, LastAt: runs.Data[0].UpdatedAt, Hooks: true, MarkedIdle: true}, idles[0])
}

// A run whose hook got a payload and which was then parked again, with no new event in its log, is woken once to find
// that out and then left alone.
func TestAReadPayloadWakesOnce(t *testing.T) {
	t.Parallel()
	b := newBundle(t, redistest.New(t))
	runID := b.begin(7)
	b.hook(runID, 7, "hook_1")
	b.event(runID, 7, world.EventHookReceived, "hook_1", "token", "token of hook_1", "payload", []byte{1})
	b.clock.Add(time.Hour)
	require.NoError(t, b.pass(t.Context()))
	require.Equal(t, []string{runID}, b.queue.woken())
	b.queue.requests = map[string]bool{} // the queue has forgotten by now
	require.NoError(t, b.pass(t.Context()))
	require.Empty(t, b.queue.woken())
}

// One replica at a time checks runs. Before each batch it checks whether it still leads.
func TestOneLeads(t *testing.T) {
	t.Parallel()
	b := newBundle(t, redistest.New(t))
	for range 2 * batch {
		b.begin(3)
	}
	b.clock.Add(time.Hour)
	b.leads.leads = false
	require.NoError(t, b.pass(t.Context()))
	require.Empty(t, b.queue.woken())

	portions := 0
	b.leads.leads, b.leads.before = true, func() {
		portions++
		b.leads.leads = portions == 1
	}
	require.NoError(t, b.pass(t.Context()))
	require.Len(t, b.queue.woken(), batch, "the rest is for another replica")
}

// The wake-up has the namespace of the run's deployment.
func TestAWakeUpStaysInTheNamespaceOfTheDeployment(t *testing.T) {
	t.Parallel()
	b := newBundle(t, redistest.New(t))
	b.queue.apps = []world.App{{DeploymentID: "dpl_0", Namespace: "blog"}, {DeploymentID: "dpl_1", Namespace: "shop"}}
	b.begin(7)
	b.clock.Add(time.Hour)
	require.NoError(t, b.pass(t.Context()))
	require.Equal(t, "__shop_wkf_workflow_workflow//./a//f", b.queue.messages[0].QueueName)
}

// A run that cannot be woken does not keep others from being woken.
func TestARunThatCannotBeWokenIsPassedOver(t *testing.T) {
	t.Parallel()
	b := newBundle(t, redistest.New(t))
	b.queue.refused = b.begin(3)
	other := b.begin(3)
	b.clock.Add(time.Hour)
	require.NoError(t, b.pass(t.Context()))
	require.Equal(t, []string{other}, b.queue.woken())
}

// More runs than a batch has: all are checked, in order.
func TestEveryRunIsLookedAt(t *testing.T) {
	t.Parallel()
	b := newBundle(t, redistest.New(t))
	want := []string{}
	for range batch + 10 {
		want = append(want, b.begin(3))
	}
	b.clock.Add(time.Hour)
	require.NoError(t, b.pass(t.Context()))
	require.Equal(t, want, b.queue.woken())
}
