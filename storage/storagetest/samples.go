package storagetest

import (
	"time"

	"github.com/world-redis/world-redis"
)

// X is the entity that samples of events are sent to.
const X = "x_1"

// Scene brings a run into some state.
type Scene func(c *Caller) (runID string)

// Then returns a scene that goes on with more events.
func (s Scene) Then(events ...world.EventType) Scene {
	return func(c *Caller) string {
		runID := s(c)
		for _, e := range events {
			c.Send(runID, e, CorrelationOf(e), c.Sample(e))
		}
		return runID
	}
}

// CorrelationOf is the entity that a sample of the type is sent to.
func CorrelationOf(e world.EventType) string {
	switch {
	case IsRunEvent(e):
		return ""
	case e == world.EventAttrSet:
		return "attr_1"
	default:
		return X
	}
}

// IsRunEvent reports whether events of a type have no entity of their own.
func IsRunEvent(e world.EventType) bool {
	switch e {
	case world.EventRunCreated, world.EventRunStarted, world.EventRunCompleted, world.EventRunFailed, world.EventRunCancelled:
		return true
	}
	return false
}

// Two kinds of events that are the same type as another one, but have other rules.
const (
	FirstStart = world.EventType("step_started with input")
	Retained   = world.EventType("hook_created that outlives the run")
)

// Retention is how long such a hook keeps its token.
const Retention = time.Hour

// Sample is eventData as SDK v4 sends it, or SDK v5 for a caller of spec 6 or more.
func (c *Caller) Sample(e world.EventType) world.Fields {
	if c.Spec >= 6 {
		switch e {
		case FirstStart:
			return Data(c.T, "stepName", "add", "workflowName", "wf", "input", []byte{1}, "ownerMessageId", "msg_1")
		case world.EventRunFailed:
			return Data(c.T, "error", []byte("devlboom"), "errorCode", "USER_ERROR")
		case world.EventStepFailed, world.EventStepRetrying:
			return Data(c.T, "stepName", "add", "error", []byte("devlbad"))
		case world.EventAttrSet:
			return Data(c.T, "changes", []map[string]any{{"key": "colour", "value": "blue"}, {"key": "size", "value": nil}},
				"writer", map[string]string{"type": "workflow"})
		case Retained:
			return Data(c.T, "token", "retained "+c.T.Name(), "metadata", []byte("meta"),
				"tokenRetentionUntil", c.Clock.Now().Add(Retention).UnixMilli())
		}
	}
	switch e {
	case world.EventRunCreated:
		return c.RunData()
	case world.EventRunCompleted:
		return Data(c.T, "output", []byte("out"))
	case world.EventRunFailed:
		return Data(c.T, "error", map[string]string{"message": "boom", "stack": "at x"}, "errorCode", "USER_ERROR")
	case world.EventStepCreated:
		return Data(c.T, "stepName", "add", "input", []byte{1})
	case world.EventStepStarted:
		return Data(c.T, "stepName", "add")
	case world.EventStepCompleted:
		return Data(c.T, "stepName", "add", "result", []byte{2})
	case world.EventStepFailed:
		return Data(c.T, "stepName", "add", "error", "bad", "stack", "at y")
	case world.EventStepRetrying:
		return Data(c.T, "stepName", "add", "error", "again", "stack", "at z")
	case world.EventHookCreated:
		return Data(c.T, "token", "token", "metadata", []byte("meta"))
	case world.EventHookReceived:
		return Data(c.T, "payload", []byte("hello"))
	case world.EventWaitCreated, world.EventWaitCompleted:
		return Data(c.T, "resumeAt", int64(1_800_000_060_000))
	}
	return nil
}
