package httpapi

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/httpapi/internal/input"
	"github.com/world-redis/world-redis/httpapi/internal/transport"
)

const batchPath = "/v1/runs/" + runID + "/events/batch"

// A batch reaches the store in its order, and the outcome of each event is answered in that order.
func TestBatchThereAndBack(t *testing.T) {
	t.Parallel()
	f := newFakes(t)
	var got world.CreateBatch
	f.store.createBatch = func(req world.CreateBatch) ([]world.BatchItem, error) {
		got = req
		early := world.Errorf(world.CodeTooEarly, "not yet")
		early.RetryAfter = 5
		return []world.BatchItem{
			{Result: world.EventResult{
				Event: &world.Event{EventID: "evnt_3", RunID: runID, Type: world.EventStepCreated, CorrelationID: "step_1", CreatedAt: 7},
				Step:  &world.Step{RunID: runID, StepID: "step_1", StepName: "add", Status: world.StepPending, CreatedAt: 7, UpdatedAt: 7},
			}},
			{Err: world.Errorf(world.CodeConflict, "Step %q already exists", "step_2")},
			{Err: early},
		}, nil
	}
	body := m{
		"events": []m{
			{"event": m{"eventType": "step_created", "correlationId": "step_1", "specVersion": 7, "eventData": m{"stepName": "add", "input": []byte{1}}}, "occurredAt": 1700000000123},
			{"event": m{"eventType": "wait_created", "correlationId": "wait_1", "eventData": m{"resumeAt": "2027-01-15T08:00:00.001Z"}}, "computeInstanceId": "cinst_1"},
			{"event": m{"eventType": "run_completed"}},
		},
		"params": m{"resolveData": "none", "requestId": "telemetry", "logEnd": m{"position": 0}},
	}
	w := call{
		method: http.MethodPost, target: batchPath, body: body,
		header: map[string]string{transport.HeaderIdempotencyKey: "key-1", "Accept": input.TypeJSON},
	}.do(t, newServer(t, f))
	require.Equal(t, http.StatusOK, w.Code, w.Body.String())
	require.Equal(t, &world.LogEnd{}, got.LogEnd)
	require.ElementsMatch(t, got.Events[0].Data, world.Fields{{Key: "stepName", Value: raw(t, "add")}, {Key: "input", Value: raw(t, []byte{1})}})
	got.Events[0].Data = nil
	require.Equal(t, world.CreateBatch{
		RunID: runID, RequestID: "key-1", ResolveNone: true, LogEnd: &world.LogEnd{},
		Events: []world.CreateEvent{
			{Type: world.EventStepCreated, CorrelationID: "step_1", SpecVersion: 7, OccurredAt: 1700000000123},
			{Type: world.EventWaitCreated, CorrelationID: "wait_1", Data: world.Fields{{Key: "resumeAt", Value: raw(t, int64(1800000000001))}}},
			{Type: world.EventRunCompleted},
		},
	}, got)
	require.JSONEq(t, `{"results":[
		{"status":200,
		 "event":{"eventId":"evnt_3","runId":"`+runID+`","eventType":"step_created","correlationId":"step_1","createdAt":7},
		 "step":{"runId":"`+runID+`","stepId":"step_1","stepName":"add","status":"pending","attempt":0,"createdAt":7,"updatedAt":7}},
		{"status":409,"error":"conflict","message":"Step \"step_2\" already exists"},
		{"status":425,"error":"too_early","message":"not yet","retryAfter":5}]}`, w.Body.String())
}

// An invalid batch is refused without a call to the store, and a refusal by the store is answered as for any call.
func TestBadBatches(t *testing.T) {
	t.Parallel()
	good := m{"event": m{"eventType": "run_completed"}}
	many := make([]m, world.MaxBatch+1)
	for i := range many {
		many[i] = good
	}
	for name, body := range map[string]any{
		"no list":         m{},
		"not a list":      m{"events": m{}},
		"no event":        m{"events": []m{good, {}}},
		"not an object":   m{"events": []any{good, 7}},
		"too many":        m{"events": many},
		"an unknown one":  m{"events": []m{{"event": m{"eventType": "noop"}}}},
		"no entity":       m{"events": []m{{"event": m{"eventType": "step_started"}}}},
		"no input":        m{"events": []m{{"event": m{"eventType": "step_created", "correlationId": "s", "eventData": m{"stepName": "a"}}}}},
		"a bad timestamp": m{"events": []m{{"event": m{"eventType": "run_completed"}, "occurredAt": "soon"}}},
		"a bad param":     m{"events": []m{good}, "params": m{"resolveData": "some"}},
	} {
		status, text := post(t, newServer(t, newFakes(t)), batchPath, body)
		require.Equal(t, http.StatusBadRequest, status, "%s: %s", name, text)
	}
	f := newFakes(t)
	f.store.createBatch = func(world.CreateBatch) ([]world.BatchItem, error) {
		return nil, world.Errorf(world.CodeInvalid, "attr_set events cannot be batched")
	}
	status, _ := post(t, newServer(t, f), batchPath, m{"events": []m{good}})
	require.Equal(t, http.StatusBadRequest, status)
}

// Only the lookup by token returns what a resume needs.
func TestHookByTokenHasWhatAResumeNeeds(t *testing.T) {
	t.Parallel()
	f := newFakes(t)
	hook := world.Hook{RunID: runID, HookID: "hook_1", Token: "t", CreatedAt: 7, Resume: &world.HookResume{
		DeploymentID: "d", WorkflowName: "w", RunSpecVersion: 7, WorkflowCoreVersion: "5.0.0", TraceCarrier: raw(t, map[string]string{"traceparent": "00"}),
		EncryptionPublicKey: "key=", InputVersion: 1, DedupVersion: 1,
	}}
	f.store.getHookByToken = func(string, bool) (world.Hook, error) { return hook, nil }
	status, text := get(t, newServer(t, f), "/v1/hooks/by-token?token=t")
	require.Equal(t, http.StatusOK, status)
	var got m
	require.NoError(t, json.Unmarshal([]byte(text), &got))
	require.Equal(t, m{
		"deploymentId": "d", "workflowName": "w", "runSpecVersion": 7.0, "workflowCoreVersion": "5.0.0", "traceCarrier": m{"traceparent": "00"},
		"encryptionPublicKey": "key=", "hookResumeInputVersion": 1.0,
	}, got["resumeContext"])
	require.Equal(t, m{"hookResumeDedupVersion": 1.0}, got["resumeCapabilities"])
	hook.Resume = nil
	_, text = get(t, newServer(t, f), "/v1/hooks/by-token?token=t")
	require.NotContains(t, text, "resume")
}

// Attributes that break their rules have an error class of their own.
func TestAttributeErrorOnTheWire(t *testing.T) {
	t.Parallel()
	f := newFakes(t)
	f.store.createEvent = func(world.CreateEvent) (world.EventResult, error) {
		return world.EventResult{}, world.Errorf(world.CodeAttributeInvalid, "too many")
	}
	event := m{"eventType": "attr_set", "eventData": m{"changes": []m{}, "writer": m{"type": "step"}}}
	status, text := post(t, newServer(t, f), "/v1/runs/"+runID+"/events", m{"event": event})
	require.Equal(t, http.StatusBadRequest, status)
	require.Contains(t, text, "AttributeValidationError")
	require.Contains(t, text, "attribute_invalid")
}

// A reason of 512 characters, as JavaScript counts them, is the longest allowed.
func TestCancelReasonLimit(t *testing.T) {
	t.Parallel()
	for units, want := range map[int]int{512: http.StatusOK, 514: http.StatusBadRequest} {
		f := newFakes(t)
		if want == http.StatusOK {
			f.store.createEvent = func(world.CreateEvent) (world.EventResult, error) { return world.EventResult{}, nil }
		}
		reason := ""
		for range units / 2 {
			reason += "🪝"
		}
		event := m{"eventType": "run_cancelled", "eventData": m{"cancelReason": reason}}
		status, text := post(t, newServer(t, f), "/v1/runs/"+runID+"/events", m{"event": event})
		require.Equal(t, want, status, fmt.Sprint(units, text))
	}
}
