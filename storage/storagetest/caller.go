package storagetest

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/ids"
	"github.com/world-redis/world-redis/internal/worldtest"
)

// Caller makes the calls of an SDK to a store, on behalf of a test.
type Caller struct {
	world.Store
	T     testing.TB
	Ctx   context.Context
	Clock *worldtest.Clock
	Spec  int // of the runs and events; 0 is 3
}

// Version is the spec version of the runs and events.
func (c *Caller) Version() int {
	if c.Spec == 0 {
		return 3
	}
	return c.Spec
}

func (c *Caller) now() world.Millis { return world.MillisOf(c.Clock.Now()) }

// FreshRunID returns the id of a run that does not exist.
func (c *Caller) FreshRunID() string { return ids.NewMinter(c.Clock).Prefixed("wrun_") }

// Data makes eventData of alternating keys and values.
func Data(t testing.TB, pairs ...any) world.Fields {
	t.Helper()
	out := world.Fields{}
	for i := 0; i < len(pairs); i += 2 {
		value, ok := pairs[i+1].(world.Raw)
		if !ok {
			value = worldtest.Raw(t, pairs[i+1])
		}
		out = append(out, world.Field{Key: pairs[i].(string), Value: value})
	}
	return out
}

// RunData is the eventData of run_created, and of a run_started that may create its run.
func (c *Caller) RunData() world.Fields {
	return Data(c.T, "deploymentId", "dpl_1", "workflowName", "wf", "input", []byte("in"),
		"executionContext", map[string]any{"workflowCoreVersion": "4.8.9"})
}

// Send creates an event that must be accepted.
func (c *Caller) Send(runID string, eventType world.EventType, correlationID string, data world.Fields) world.EventResult {
	c.T.Helper()
	result, err := c.Try(runID, eventType, correlationID, data)
	require.NoError(c.T, err, "%s %s", eventType, correlationID)
	return result
}

// Try creates an event that may be refused.
func (c *Caller) Try(runID string, eventType world.EventType, correlationID string, data world.Fields) (world.EventResult, error) {
	return c.CreateEvent(c.Ctx, c.Request(runID, eventType, correlationID, data))
}

// Request is what Try sends.
func (c *Caller) Request(runID string, eventType world.EventType, correlationID string, data world.Fields) world.CreateEvent {
	switch eventType {
	case FirstStart:
		eventType = world.EventStepStarted
	case Retained:
		eventType = world.EventHookCreated
	}
	return world.CreateEvent{RunID: runID, Type: eventType, CorrelationID: correlationID, Data: data, SpecVersion: c.Version()}
}

// Entry is an event of a batch.
func (c *Caller) Entry(e world.EventType, correlationID string) world.CreateEvent {
	req := c.Request("", e, correlationID, c.Sample(e))
	if e == world.EventStepStarted {
		req.Data = Data(c.T, "stepName", "add", "ownerMessageId", "msg_1")
	}
	return req
}

// NewRun creates a run and returns its id.
func (c *Caller) NewRun() string {
	c.T.Helper()
	return c.Send("", world.EventRunCreated, "", c.RunData()).Run.RunID
}

// Running creates a run and starts it.
func (c *Caller) Running() string {
	c.T.Helper()
	runID := c.NewRun()
	c.Send(runID, world.EventRunStarted, "", nil)
	return runID
}

// Events returns all events of a run.
func (c *Caller) Events(runID string) []world.Event {
	c.T.Helper()
	page, err := c.ListEvents(c.Ctx, world.EventQuery{RunID: runID})
	require.NoError(c.T, err)
	require.False(c.T, page.HasMore)
	return page.Data
}

// Changes is the eventData of an attr_set, of alternating keys and values; a nil value removes the key.
func (c *Caller) Changes(writer string, pairs ...any) world.Fields {
	changes := []map[string]any{}
	for i := 0; i < len(pairs); i += 2 {
		changes = append(changes, map[string]any{"key": pairs[i], "value": pairs[i+1]})
	}
	return Data(c.T, "changes", changes, "writer", map[string]any{"type": writer, "stepId": "s", "attempt": 1})
}

// exists reports whether there is a run.
func (c *Caller) exists(runID string) bool {
	_, err := c.GetRun(c.Ctx, runID, true)
	return err == nil
}

func types(events []world.Event) []world.EventType {
	out := make([]world.EventType, len(events))
	for i, e := range events {
		out[i] = e.Type
	}
	return out
}
