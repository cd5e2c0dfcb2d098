package storagetest

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

// Callers makes random calls of several callers at once, on two replicas if there are, and repeats some. There is no
// prediction, but the log is sound, and each accepted call stands in it once.
func Callers(t *testing.T, sequences int, open func(t *testing.T) *Subject) {
	seed := firstSeed()
	var s *Subject
	for i := range sequences {
		s = emptied(t, s, open)
		callersAtOnce(t, s, seed+uint64(i))
		if t.Failed() {
			return
		}
	}
}

func callersAtOnce(t *testing.T, s *Subject, seed uint64) {
	t.Helper()
	const callers, each = 4, 10
	stores := []world.Store{s.Store, s.Store}
	if s.Replica != nil {
		stores[1] = s.Replica
	}
	c := s.on(t, 3)
	m := newMix(t, s, seed)
	defer func() {
		if t.Failed() {
			for _, runID := range m.runIDs {
				t.Logf("seed %d, %s: %v", seed, runID, types(c.Events(runID)))
			}
		}
	}()
	var mu sync.Mutex
	answers := map[string]string{} // request id → event id
	made := 0                      // events that were made along with another one
	var calls []func()
	for i := range callers {
		mine := make([]world.CreateEvent, 0, each+2)
		for len(mine) < each {
			mine = append(mine, m.next())
		}
		on := stores[i%2]
		work := func(reqs []world.CreateEvent) {
			for _, req := range reqs {
				result, err := on.CreateEvent(c.Ctx, req)
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
		workBatches := func() {
			for _, req := range batches {
				req.Events = slices.Clone(req.Events) // the other one has them, too
				items, err := on.CreateBatch(c.Ctx, req)
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
		}
		calls = append(calls, workBatches, workBatches)
		again := mine[:each/2] // an impatient client sends these twice
		calls = append(calls, func() { work(mine) }, func() { work(again) })
	}
	together(calls...)
	owners := map[string]int{}
	for id := range maps.Values(answers) {
		owners[id]++
	}
	total := 0
	for _, runID := range m.runIDs {
		log := c.Events(runID)
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
	c.Clock.Add(2 * time.Minute)
	s.upkeep(t)
	var existing []string
	for _, runID := range m.runIDs {
		if c.exists(runID) {
			existing = append(existing, runID)
		}
	}
	s.check(c, existing...)
}

// together makes the calls at the same instant.
func together(calls ...func()) {
	var gate, done sync.WaitGroup
	gate.Add(1)
	for _, call := range calls {
		done.Go(func() {
			gate.Wait()
			call()
		})
	}
	gate.Done()
	done.Wait()
}
