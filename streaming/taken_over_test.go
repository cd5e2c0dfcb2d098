package streaming_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/redistest"
	"github.com/world-redis/world-redis/streaming"
)

// logs is a fake of the store: the steps of each run; those of "" are found by their ids alone.
type logs struct {
	mu    sync.Mutex
	steps map[string][]string
	err   error
}

func (l *logs) set(runID string, steps ...string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.steps[runID] = steps
}

func (l *logs) fail(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.err = err
}

func (l *logs) FindSteps(_ context.Context, refs []world.StepRef) ([]world.StepPresence, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := make([]world.StepPresence, len(refs))
	for i, ref := range refs {
		steps, known := l.steps[ref.RunID]
		if known {
			out[i].Run = world.RunRunning
		}
		for _, step := range steps {
			out[i].Step = out[i].Step || step == ref.StepID
		}
	}
	return out, l.err
}

func startWithLogs(t *testing.T, r *redistest.Redis) (*attempts, *logs) {
	t.Helper()
	l := &logs{steps: map[string][]string{}}
	replica := func() *streaming.Service {
		return start(t, r.Client, r.Prefix, func(c *streaming.Config) { c.Steps = l })
	}
	return &attempts{t: t, replicas: []*streaming.Service{replica(), replica()}}, l
}

// A step closed the stream; a failover removed the step from the log, and the run executes it again under another id.
// That execution may write after the end, as another attempt may. No step may do so while the step that closed the
// stream may still be in a log, or while that is not known.
func TestAnExecutionThatWasRolledBackClosedTheStream(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		a, logs := startWithLogs(t, r)
		again := func(attempt int64) []world.StreamStep { return steps(attempt, "step_again") }
		logs.set("wrun_1", "step_1")
		a.writes(0, step(1), "a1", "b1")
		a.closes(step(1), "close 1")
		a.refused(again(1))
		logs.set("wrun_1", "step_again")
		logs.set("", "step_1") // in the log of another run, which the stream was passed on to
		a.refused(again(1))
		logs.set("")
		a.refused(nil) // of no step
		logs.fail(errors.New("Redis is away"))
		_, err := a.write(again(1), "x")
		require.ErrorContains(t, err, "Redis is away")
		logs.fail(nil)

		early := read(t, a.replicas[1], "st", 3)
		require.NoError(t, early.end(t))
		a.writes(3, again(1), "a2")
		a.writes(4, again(2), "b2")
		a.closes(again(1), "late")
		require.False(t, a.info(3).Done)
		a.closes(again(2), "close 2")
		a.closes(step(1), "close 1")
		a.finds(map[int64]string{0: "a1 b1", 1: "b1", 2: "", 3: "a2 b2", -1: "b2"})
		a.refused(step(2)) // what goes on of the lost execution
		a.writes(6, again(3), "a3")
	})
}

// Large units, which are otherwise stored without the script, and one of the steps that hold the stream.
func TestALargeUnitBehindAnEndOfNobody(t *testing.T) {
	t.Parallel()
	a, logs := startWithLogs(t, redistest.New(t))
	on := a.replicas[0]
	logs.set("wrun_1", "step_3")
	require.Equal(t, int64(0), put(t, on, world.Append{Chunks: largeUnit(0, 3), Steps: steps(1, "step_1", "step_2")}))
	require.NoError(t, on.CloseStream(t.Context(), world.StreamClose{Name: "st", RunID: "wrun_1", Steps: steps(1, "step_1", "step_2")}))
	logs.set("wrun_1", "step_3", "step_2")
	_, err := on.AppendChunks(t.Context(), world.Append{Name: "st", RunID: "wrun_1", Chunks: largeUnit(0, 3), Steps: steps(1, "step_3")})
	require.Equal(t, world.CodeStreamClosed, world.ErrorCode(err))
	logs.set("wrun_1", "step_3")
	require.Equal(t, int64(4), put(t, on, world.Append{Chunks: largeUnit(10, 3), Steps: steps(1, "step_3")}))
	require.Equal(t, int64(7), put(t, on, world.Append{Chunks: largeUnit(20, 3), Steps: steps(1, "step_3")}))
	require.NoError(t, on.CloseStream(t.Context(), world.StreamClose{Name: "st", RunID: "wrun_1", Steps: steps(1, "step_3")}))
	reading := read(t, on, "st", 4)
	require.NoError(t, reading.end(t))
	require.Len(t, reading.got(), 6)
	require.Equal(t, byte(10), reading.got()[0].Data[0])
}
