package storage

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/redistest"
)

// relieved looks at the memory now.
func (b *bundle) relieved() {
	b.t.Helper()
	b.quiet()
	for more := true; more; {
		b.dueRuns.pressure.next = time.Time{}
		var err error
		more, err = b.relieve(b.ctx)
		require.NoError(b.t, err)
	}
}

func (b *bundle) end(kind world.EventType) (runID string) {
	b.t.Helper()
	runID = b.running()
	b.send(runID, kind, "", sample(b, kind))
	return runID
}

// While Redis is too full, runs that have ended a while ago are removed before their time. Runs without a retention stay, and so do
// those that have just ended or go on, even if nothing else is left to remove.
func TestRunsLeaveAFullRedisEarly(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		var full, log bytes.Buffer
		b := newBundle(t, r).on(t, 7).keeping("completed=1d,failed=2h", func(c *Config) {
			c.Pressure = func(context.Context) (string, error) { return full.String(), nil }
			c.Logger = slog.New(slog.NewTextHandler(&log, nil))
		})
		var done []string
		for n := range 3 {
			done = append(done, b.full(fmt.Sprintf("_%d", n), true))
		}
		unruled := b.end(world.EventRunCancelled)
		b.clock.Add(16 * time.Minute)
		young, living := b.end(world.EventRunFailed), b.full("_living", false)
		b.relieved()
		require.False(t, b.gone(done[0]))
		require.Empty(t, log.String())

		full.WriteString("3.5 GB of 4.0 GB")
		b.relieved()
		for _, runID := range done {
			require.True(t, b.gone(runID))
			require.Equal(t, []string{b.keys.of(runID).removed()}, b.naming(runID))
		}
		for _, runID := range []string{unruled, young, living} {
			require.False(t, b.gone(runID))
		}
		in, ok := b.dueIn(young)
		require.True(t, ok)
		require.Equal(t, 2*time.Hour, in)
		require.EqualValues(t, 3, b.RunsRemoved()[RemovedEarly])
		require.Zero(t, b.RunsRemoved()[RemovedByRule])
		b.relieved()
		require.Equal(t, 2, strings.Count(log.String(), "level=WARN"), log.String())
		require.Contains(t, log.String(), `finished runs are removed before their time, those that are due next first" memory="3.5 GB of 4.0 GB"`)
		require.Contains(t, log.String(), "no finished run may be removed early")

		b.clock.Add(15 * time.Minute)
		b.relieved()
		require.True(t, b.gone(young))
		full.Reset()
		b.relieved()
		require.Contains(t, log.String(), `level=INFO msg="Redis is not too full any more" removed_early=4`)
		b.check(living, unruled)
	})
}

// Those that are due next go first, and no more than is needed: the memory is read after each batch.
func TestRunsThatAreDueNextLeaveFirst(t *testing.T) {
	t.Parallel()
	r := redistest.New(t)
	var first, last []string
	b := newBundle(t, r).on(t, 7)
	b = b.keeping("completed=2d,failed=1d", func(c *Config) {
		c.Pressure = func(ctx context.Context) (string, error) {
			if _, err := b.GetRun(ctx, first[0], true); err == nil {
				return "full", nil
			}
			return "", nil
		}
	})
	for range dueAtOnce {
		first = append(first, b.end(world.EventRunFailed))
	}
	last = append(last, b.end(world.EventRunCompleted))
	b.clock.Add(time.Hour)
	b.relieved()
	require.True(t, b.gone(first[dueAtOnce-1]))
	require.False(t, b.gone(last[0]))
	require.EqualValues(t, dueAtOnce, b.RunsRemoved()[RemovedEarly])
}

// A run leaves early only when its archive has it, and keeps its time otherwise. Where nothing may be removed, nothing is.
func TestWhatIsNotArchivedDoesNotLeaveEarly(t *testing.T) {
	t.Parallel()
	b := newBundle(t, redistest.New(t)).on(t, 7)
	may, safe := false, map[string]bool{}
	b = b.keeping("completed=1d", func(c *Config) {
		c.Pressure = func(context.Context) (string, error) { return "full", nil }
		c.MayRemove = func(context.Context) (bool, error) { return may, nil }
		c.Archive = func(_ context.Context, runIDs []string) (done []string, err error) {
			for _, runID := range runIDs {
				if safe[runID] {
					done = append(done, runID)
				}
			}
			return done, nil
		}
	})
	kept, archived := b.full("_1", true), b.full("_2", true)
	safe[archived] = true
	b.clock.Add(time.Hour)
	b.relieved()
	require.False(t, b.gone(archived), "nothing may be removed")
	may = true
	b.relieved()
	require.True(t, b.gone(archived))
	require.False(t, b.gone(kept))
	in, ok := b.dueIn(kept)
	require.True(t, ok)
	require.Equal(t, 23*time.Hour, in)
}
