package storage

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
)

// Several callers on two replicas, with repeats: no prediction, but the log is sound, and each
// accepted call stands in it once.
func TestModelManyCallers(t *testing.T) {
	t.Parallel()
	const callers, each = 4, 10
	var other *Store
	eachSequence(t, 5, 1, max(1, *modelSequences/20), func(t *testing.T, b *bundle, seed uint64) {
		if other == nil {
			var err error
			other, err = New(t.Context(), b.redis.Client, Config{Prefix: b.redis.Prefix, Clock: b.clock})
			require.NoError(t, err)
		}
		m := newMix(t, b, seed)
		defer func() {
			if t.Failed() {
				for _, runID := range m.runIDs {
					t.Logf("seed %d, %s: %v", seed, runID, types(b.events(runID)))
				}
			}
		}()
		var mu sync.Mutex
		answers := map[string]string{} // request id → event id
		made := 0                      // events that were made along with another one
		var calls []func() error
		for i := range callers {
			mine := make([]world.CreateEvent, 0, each+2)
			for len(mine) < each {
				mine = append(mine, m.next())
			}
			on := []*Store{b.Store, other}[i%2]
			work := func(reqs []world.CreateEvent) {
				for _, req := range reqs {
					result, err := on.CreateEvent(b.ctx, req)
					if code := world.ErrorCode(err); code == world.CodeInternal || code == world.CodeUnavailable || code == world.CodeInvalid {
						t.Errorf("seed %d: %s: %v", seed, req.Type, err)
					}
					if err != nil || result.Event == nil {
						continue
					}
					id := req.RunID + "/" + result.Event.EventID
					mu.Lock()
					if before, known := answers[req.RequestID]; known && before != id {
						t.Errorf("seed %d: %s is %s and %s", seed, req.RequestID, before, id)
					} else if !known && result.StepCreated {
						made++
					}
					answers[req.RequestID] = id
					mu.Unlock()
				}
			}
			batches := []world.CreateBatch{m.nextBatch(), m.nextBatch()}
			workBatches := func() error {
				for _, req := range batches {
					req.Events = slices.Clone(req.Events) // the other one has them, too
					items, err := on.CreateBatch(b.ctx, req)
					if err != nil {
						t.Errorf("seed %d: %v", seed, err)
					}
					mu.Lock()
					for i, item := range items {
						if item.Err != nil {
							continue
						}
						call, id := fmt.Sprint(req.RequestID, " ", i), req.RunID+"/"+item.Result.Event.EventID
						if before, known := answers[call]; known && before != id {
							t.Errorf("seed %d: %s is %s and %s", seed, call, before, id)
						}
						answers[call] = id
					}
					mu.Unlock()
				}
				return nil
			}
			calls = append(calls, workBatches, workBatches)
			again := mine[:each/2] // an impatient client sends these twice
			calls = append(calls, func() error { work(mine); return nil }, func() error { work(again); return nil })
		}
		together(calls...)
		owners := map[string]int{}
		for id := range maps.Values(answers) {
			owners[id]++
		}
		total := 0
		for _, runID := range m.runIDs {
			log := b.events(runID)
			total += len(log)
			for i, e := range log {
				n := owners[runID+"/"+e.EventID]
				require.True(t, n == 1 || (n > 1 && (e.ResumeID != "" || e.Type == world.EventHookConflict)) ||
					(n == 0 && i+1 < len(log) && (e.Type == world.EventStepCreated || e.Type == world.EventRunCreated)),
					"seed %d: %s answered %d calls", seed, e.Type, n)
				if e.Type == world.EventRunCreated && n == 0 {
					made++
				}
			}
		}
		require.Equal(t, total, len(owners)+made, "seed %d: every accepted call has its event", seed)
		b.clock.Add(2 * time.Minute)
		b.sweep()
		var existing []string
		for _, runID := range m.runIDs {
			if m.exists(b, runID) {
				existing = append(existing, runID)
			}
		}
		b.on(t, 3).check(existing...)
	})
}

func (m *mix) exists(b *bundle, runID string) bool {
	_, err := b.GetRun(b.ctx, runID, true)
	return err == nil
}
