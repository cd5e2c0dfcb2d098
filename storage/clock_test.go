package storage

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/redistest"
)

// Two replicas whose clocks differ by five seconds write to the same runs concurrently: times never decrease along a
// log, and the start time of a run never changes.
func TestReplicasFiveSecondsApart(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		ahead, behind := newBundle(t, r), newBundle(t, r)
		ahead.clock.Add(5 * time.Second)
		for _, spec := range []int{3, 7} {
			created, err := behind.CreateEvent(behind.ctx, world.CreateEvent{Type: world.EventRunCreated, SpecVersion: spec, Data: behind.runData()})
			require.NoError(t, err)
			runID := created.Run.RunID
			started := make(chan world.Millis, 20)
			var all sync.WaitGroup
			for i := range cap(started) {
				b := []*bundle{ahead, behind}[i%2]
				all.Go(func() {
					got, err := b.CreateEvent(b.ctx, world.CreateEvent{RunID: runID, Type: world.EventRunStarted, SpecVersion: spec})
					if err == nil {
						started <- got.Run.StartedAt
					}
					b.clock.Add(time.Millisecond)
					_, _ = b.try(runID, world.EventStepCreated, fmt.Sprintf("step_%d", i), sample(b, world.EventStepCreated))
					_, _ = b.try(runID, world.EventStepStarted, fmt.Sprintf("step_%d", i), nil)
				})
			}
			all.Wait()
			require.Len(t, started, cap(started))
			run, err := ahead.GetRun(ahead.ctx, runID, true)
			require.NoError(t, err)
			for range cap(started) {
				require.Equal(t, run.StartedAt, <-started)
			}
			log := behind.events(runID)
			require.Len(t, log, 2+2*cap(started))
			ahead.check(runID) // ids and times only grow, and every startedAt is its first event's
		}
	})
}

// The same holds for the entities of legacy calls and their log.
func TestLegacyReplicasFiveSecondsApart(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		ahead, behind := newBundle(t, r), newBundle(t, r)
		ahead.clock.Add(5 * time.Second)
		runID := ahead.legacyRun().RunID
		started := ahead.update(runID, world.RunRunning)
		require.Equal(t, ahead.now(), started.StartedAt)
		paused := behind.update(runID, world.RunPaused)
		require.Equal(t, started.UpdatedAt, paused.UpdatedAt, "a clock that is behind does not take the run back")
		again := behind.update(runID, world.RunRunning)
		require.Equal(t, started.StartedAt, again.StartedAt)
		for i := range 20 {
			b := []*bundle{ahead, behind}[i%2]
			_, err := b.CreateLegacyEvent(b.ctx, world.CreateLegacyEvent{RunID: runID, Type: world.EventStepStarted, CorrelationID: "step_1"})
			require.NoError(t, err)
		}
		log := behind.events(runID)
		for i := 1; i < len(log); i++ {
			require.Greater(t, log[i].EventID, log[i-1].EventID)
			require.GreaterOrEqual(t, log[i].CreatedAt, log[i-1].CreatedAt)
		}
		ended := behind.update(runID, world.RunCompleted)
		require.Equal(t, started.UpdatedAt, ended.CompletedAt)
	})
}
