package storagetest

import (
	"fmt"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
)

type appliedBatch struct {
	req   world.CreateBatch
	items []world.BatchItem
}

var batchKinds = []world.EventType{
	world.EventStepCreated, world.EventStepCreated, world.EventStepStarted, world.EventStepRetrying, world.EventStepCompleted,
	world.EventStepFailed, world.EventWaitCreated, world.EventWaitCompleted, world.EventRunCompleted, world.EventRunFailed,
}

// nextBatch draws a batch. Each of its events is of another entity, but for steps that it creates and starts.
func (m *mix) nextBatch() world.CreateBatch {
	run := min(m.rng.IntN(len(m.runIDs)), m.rng.IntN(len(m.runIDs)))
	c := m.by[m.specs[m.runIDs[run]]]
	m.calls++
	batch := world.CreateBatch{RunID: m.runIDs[run], RequestID: fmt.Sprintf("call %d", m.calls), ResolveNone: m.chance(25)}
	var starts []world.CreateEvent
	taken := map[string]bool{}
	for range 2 + m.rng.IntN(6) {
		kind := batchKinds[m.rng.IntN(len(batchKinds))]
		entity := string(kind)[:4]
		id := fmt.Sprintf("%s%d_%d", entity, run, m.rng.IntN(3))
		if endsRun(kind) {
			id = ""
		}
		if taken[id] || (id == "" && m.chance(80)) {
			continue
		}
		taken[id] = true
		e := c.Entry(kind, id)
		if kind == world.EventStepRetrying && m.chance(60) {
			e.Data = append(e.Data, Data(c.T, "retryAfter", c.Clock.Now().Add(time.Duration(m.rng.IntN(20))*time.Second).UnixMilli())...)
		}
		batch.Events = append(batch.Events, e)
		if kind == world.EventStepCreated || kind == world.EventWaitCreated {
			m.made[entity] = append(m.made[entity], madeEntity{run, id})
		}
		if kind != world.EventStepCreated || m.chance(40) {
			continue
		}
		if start := c.Entry(world.EventStepStarted, id); m.chance(50) {
			batch.Events = append(batch.Events, start)
		} else {
			starts = append(starts, start)
		}
	}
	batch.Events = append(batch.Events, starts...)
	if len(batch.Events) == 0 {
		batch.Events = append(batch.Events, c.Entry(world.EventWaitCreated, fmt.Sprintf("wait%d_0", run)))
	}
	return batch
}

// spoil adds something because of which all of a batch is refused.
func (m *mix) spoil(batch *world.CreateBatch) {
	c := m.by[m.specs[batch.RunID]]
	bad := []world.CreateEvent{
		c.Entry(world.EventHookCreated, "hook_1"), c.Entry(world.EventStepCreated, "a/b"), c.Entry(world.EventRunCancelled, ""),
		c.Entry(world.EventWaitCreated, "wait_twice"),
	}
	batch.RequestID += " invalid"
	one := bad[m.rng.IntN(len(bad))]
	batch.Events = append(batch.Events, one, one) // the last one is bad because it comes twice
}

// callBatch makes a batch that is new. The model takes its events one after the other.
func (s *sequence) callBatch(req world.CreateBatch) {
	s.t.Helper()
	if s.chance(10) {
		s.spoil(&req)
		_, err := s.through.CreateBatch(s.caller.Ctx, req)
		require.Equal(s.t, world.CodeInvalid, world.ErrorCode(err), "%v", err)
		s.compareLength(req.RunID)
		return
	}
	run, now := s.model.runs[req.RunID], s.caller.now()
	wants, last := make([]prediction, len(req.Events)), map[string]int{}
	for i, e := range req.Events {
		e.RunID, e.RequestID = req.RunID, req.RequestID
		creation, pair := last[e.CorrelationID]
		if pair && wants[creation].code != "" { // who did not create the step does not start it
			wants[i] = refuse(wants[creation].code)
		} else {
			wants[i] = s.model.call(e, now)
		}
		last[e.CorrelationID] = i
		s.note(e, "%q %v", wants[i].code, wants[i].appended)
	}
	items, err := s.through.CreateBatch(s.caller.Ctx, req)
	require.NoError(s.t, err)
	require.Len(s.t, items, len(wants))
	s.compareLength(req.RunID)
	position := len(run.log)
	for _, want := range wants {
		position -= len(want.appended)
	}
	for i, item := range items {
		if wants[i].code != "" {
			require.NotNil(s.t, item.Err, "%s %s", req.Events[i].Type, req.Events[i].CorrelationID)
			require.Equal(s.t, wants[i].code, item.Err.Code)
			continue
		}
		require.Nil(s.t, item.Err, "%s %s", req.Events[i].Type, req.Events[i].CorrelationID)
		result := item.Result
		got := []modelEvent{{result.Event.Type, result.Event.CorrelationID}}
		require.Equal(s.t, wants[i].appended, got)
		if position++; run.spec >= 6 {
			require.Equal(s.t, position, SlotOf(result.Event.EventID), "the events of a batch follow each other")
		}
		if result.Run != nil {
			s.compareRun(run, *result.Run)
		}
		if step := run.steps[req.Events[i].CorrelationID]; step != nil && last[req.Events[i].CorrelationID] == i {
			require.Equal(s.t, []any{string(step.status), step.attempt, step.retryAfter},
				[]any{string(result.Step.Status), result.Step.Attempt, result.Step.RetryAfter})
		}
	}
	s.pastBatches = append(s.pastBatches, appliedBatch{req, items})
}

// repeatBatch makes a batch again: each event is answered as it was, also those that were refused.
func (s *sequence) repeatBatch(first appliedBatch) {
	s.t.Helper()
	items, err := s.through.CreateBatch(s.caller.Ctx, first.req)
	require.NoError(s.t, err)
	for i, item := range items {
		if item.Err != nil && item.Err.Code == world.CodeTooEarly {
			item.Err.RetryAfter = first.items[i].Err.RetryAfter // the rest of the time, as it is now
		}
	}
	if s.model.runs[first.req.RunID].expired() { // what was answered before is not kept
		require.Equal(s.t, ItemCodes(first.items), ItemCodes(items))
	} else {
		require.Equal(s.t, first.items, items)
	}
	s.compareLength(first.req.RunID)
}
