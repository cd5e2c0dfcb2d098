package storage

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/redistest"
	"github.com/world-redis/world-redis/storage/internal/record"
)

const manyBytes = 1 << 20

// The preload of a running run is byte for byte what run_started answers, for all events and wherever their payloads
// are stored; and reading it writes nothing.
func TestReadStartIsTheAnswerToRunStarted(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		for _, spec := range []int{2, 3, 5, 7} {
			b := newBundle(t, r).on(t, spec)
			runID := b.running()
			b.send(runID, world.EventStepCreated, "step_1", data(t, "stepName", "add", "input", []byte(strings.Repeat("x", 3*record.SplitAbove))))
			b.send(runID, world.EventStepStarted, "step_1", data(t, "stepName", "add"))
			b.send(runID, world.EventStepCompleted, "step_1", data(t, "result", []byte{2}))
			log := b.events(runID)

			got, length, ok, err := b.ReadStart(b.ctx, runID, len(log), manyBytes)
			require.NoError(t, err)
			require.True(t, ok)
			require.EqualValues(t, len(log), length)
			require.Equal(t, log, b.events(runID))
			require.Equal(t, b.send(runID, world.EventRunStarted, "", nil), got)
			require.Equal(t, log, got.Events)
			require.Equal(t, log, b.events(runID), "run_started changed nothing either, or the two could not be the same")
		}
	})
}

// There is no preload of a run for which run_started would change something, be refused, or return less than the whole
// log.
func TestReadStartOfOtherRuns(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		b := newBundle(t, r)
		none := func(runID string, maxEvents, maxBytes int, want ...int64) {
			t.Helper()
			got, length, ok, err := b.ReadStart(b.ctx, runID, maxEvents, maxBytes)
			require.NoError(t, err)
			require.False(t, ok)
			require.Equal(t, world.EventResult{}, got)
			require.Equal(t, append(want, 0)[0], length)
		}
		none("wrun_01JZZZZZZZZZZZZZZZZZZZZZZZ", 100, manyBytes)
		none(b.newRun(), 100, manyBytes)
		for _, end := range []world.EventType{world.EventRunCompleted, world.EventRunFailed, world.EventRunCancelled} {
			runID := b.running()
			b.send(runID, end, "", data(t, "output", 1, "error", "no"))
			none(runID, 100, manyBytes)
		}
		legacy := b.legacyRun()
		b.update(legacy.RunID, world.RunRunning)
		none(legacy.RunID, 100, manyBytes)

		runID := b.running()
		none(runID, 1, manyBytes, 2)
		none(runID, 100, 20, 2)
		none(runID, 0, 0, 2)
		_, _, ok, err := b.ReadStart(b.ctx, runID, 2, manyBytes)
		require.NoError(t, err)
		require.True(t, ok)

		_, _, _, err = b.ReadStart(b.ctx, "{}", 100, manyBytes)
		require.Equal(t, world.CodeInvalid, world.ErrorCode(err))
	})
}

// The preload is one script on the run's slot, like the call that it replaces.
func TestReadStartIsOneScript(t *testing.T) {
	t.Parallel()
	b := newBundle(t, redistest.New(t))
	runID := b.running()
	var r recorder
	b.redis.Client.AddHook(&r)
	_, _, ok, err := b.ReadStart(b.ctx, runID, 100, manyBytes)
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, []string{"evalsha"}, r.take())
}
