package recovery

import (
	"testing"
	"time"

	"github.com/fxamacker/cbor/v2"
	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/ids"
	"github.com/world-redis/world-redis/internal/redistest"
)

// BR-13: a run whose message cannot be delivered fails with a code and a sentence, in the form that its SDK reads;
// once, and not if it has ended otherwise.
func TestFailRun(t *testing.T) {
	t.Parallel()
	b := newBundle(t, redistest.New(t))
	f := Failer{Store: b.store}
	v4, v5, done := b.begin(3), b.begin(7), b.begin(7)
	b.event(done, 7, world.EventRunCompleted, "", "output", []byte{1})
	for range 2 {
		for _, runID := range []string{v4, v5, done, "wrun_01ARZ3NDEKTSV4RRFFQ69G5FAV"} {
			require.NoError(t, f.FailRun(t.Context(), runID, CodeUndeliverable, `the app said "no" 60 times`))
		}
	}
	run, err := b.store.GetRun(t.Context(), v4, false)
	require.NoError(t, err)
	require.Equal(t, world.RunFailed, run.Status)
	var object map[string]string
	require.NoError(t, cbor.Unmarshal(run.Error, &object))
	require.Equal(t, map[string]string{"message": `the app said "no" 60 times`, "code": "MAX_DELIVERIES_EXCEEDED"}, object)

	run, err = b.store.GetRun(t.Context(), v5, false)
	require.NoError(t, err)
	require.Equal(t, world.RunFailed, run.Status)
	require.Equal(t, "MAX_DELIVERIES_EXCEEDED", run.ErrorCode)
	var bytes []byte
	require.NoError(t, cbor.Unmarshal(run.Error, &bytes))
	require.Equal(t, `devl[["Error",1],{"message":3,"name":2,"stack":4},"WorkflowRuntimeError",`+
		`"the app said \"no\" 60 times","WorkflowRuntimeError: the app said \"no\" 60 times"]`, string(bytes))

	run, err = b.store.GetRun(t.Context(), done, false)
	require.NoError(t, err)
	require.Equal(t, world.RunCompleted, run.Status)
	for runID, count := range map[string]int{v4: 3, v5: 3, done: 3} {
		events, err := b.store.ListEvents(t.Context(), world.EventQuery{RunID: runID})
		require.NoError(t, err)
		require.Len(t, events.Data, count)
	}
}

// A run of an SDK from before event sourcing has no run_failed: its record says that it failed.
func TestFailRunOfSpec1(t *testing.T) {
	t.Parallel()
	b := newBundle(t, redistest.New(t))
	f := Failer{Store: b.store}
	made, err := b.store.CreateLegacyRun(t.Context(), world.CreateLegacyRun{DeploymentID: "d", WorkflowName: "w", Input: world.Raw{0x80}, RequestID: "r"})
	require.NoError(t, err)
	for _, code := range []string{CodeTooLarge, CodeTooLarge, CodeUndeliverable} {
		require.NoError(t, f.FailRun(t.Context(), made.RunID, code, "too much"))
	}
	run, err := b.store.GetRun(t.Context(), made.RunID, false)
	require.NoError(t, err)
	require.Equal(t, world.RunFailed, run.Status)
	var object map[string]string
	require.NoError(t, cbor.Unmarshal(run.Error, &object))
	require.Equal(t, map[string]string{"message": "too much", "code": "PAYLOAD_TOO_LARGE"}, object)
}

// BR-04, BR-13: start() sends the first message and the first event of a run concurrently. If the message fails for
// good before the event has arrived, the run must not stay pending forever: the message is not dead until the run could
// be failed, or has had a minute to start.
func TestBR13RunThatIsAboutToStartIsFailedLater(t *testing.T) {
	t.Parallel()
	b := newBundle(t, redistest.New(t))
	runID := "wrun_" + ids.NewMinter(world.SystemClock{}).New().String()
	f := Failer{Store: b.store}
	err := f.FailRun(t.Context(), runID, CodeDeploymentGone, "no app")
	require.Equal(t, world.CodeRunNotFound, world.ErrorCode(err))
	f.Clock = later{}
	require.NoError(t, f.FailRun(t.Context(), runID, CodeDeploymentGone, "no app"), "the start has failed")
}

// later is a clock that is a minute fast.
type later struct{}

func (later) Now() time.Time { return time.Now().Add(startTime) }
