package httpapi

import (
	"net/http"
	"testing"

	"github.com/fxamacker/cbor/v2"
	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/httpapi/internal/input"
	"github.com/world-redis/world-redis/httpapi/internal/transport"
	"github.com/world-redis/world-redis/internal/worldtest"
)

// unhex reads CBOR as the client's encoder writes it.
func unhex(t testing.TB, s string) world.Raw {
	t.Helper()
	return worldtest.Unhex(t, s)
}

// accepted posts an event and returns what the store received.
func accepted(t *testing.T, target string, body any, header map[string]string) world.CreateEvent {
	t.Helper()
	f := newFakes(t)
	var got world.CreateEvent
	f.store.createEvent = func(req world.CreateEvent) (world.EventResult, error) {
		got = req
		return world.EventResult{}, nil
	}
	w := call{method: http.MethodPost, target: target, body: body, header: header}.do(t, newServer(t, f))
	require.Equal(t, http.StatusOK, w.Code, w.Body.String())
	return got
}

func TestCreateEventReadsTheWholeCall(t *testing.T) {
	t.Parallel()
	count := int64(12)
	body := m{
		"event": m{"eventType": "hook_received", "correlationId": "hook_1", "specVersion": 7, "resumeId": "res_1", "eventData": m{"payload": []byte{0}}},
		"params": m{
			"resolveData": "none", "v1Compat": true, "occurredAt": 1700000000123, "eventCount": 12.0, "sinceCursor": "c", "skipPreload": true,
			"preloadEvents": true, "resumePayloadDigest": "sha", "requestId": "telemetry", "computeInstanceId": []int{1},
			"logEnd": m{"position": 11.0, "createdAt": 1700000000122.0},
		},
	}
	got := accepted(t, "/v1/runs/"+runID+"/events", body, map[string]string{transport.HeaderIdempotencyKey: "key-1"})
	require.Equal(t, world.CreateEvent{
		RunID: runID, RequestID: "key-1", Type: world.EventHookReceived, CorrelationID: "hook_1", SpecVersion: 7,
		Data: world.Fields{{Key: "payload", Value: world.Raw{0x41, 0}}}, OccurredAt: 1700000000123, ResumeID: "res_1",
		V1Compat: true, ResolveNone: true, EventCount: &count, SinceCursor: "c", SkipPreload: true, PreloadEvents: true, ResumePayloadDigest: "sha",
		LogEnd: &world.LogEnd{Position: 11, CreatedAt: 1700000000122},
	}, got)
}

// The bytes of cbor-x: maps with 16-bit lengths, undefined and null entries, floats for large whole numbers, tag 64
// around a Uint8Array. Payloads keep their bytes; undefined or null at the top of eventData counts as absent.
func TestEventDataIsKeptAsSent(t *testing.T) {
	t.Parallel()
	// {event: {eventType: "run_created", correlationId: undefined, specVersion: 3, eventData:
	//   {workflowName: "w", deploymentId: "d", input: Uint8Array[1,2,3], executionContext: {a: null}, attributes: undefined, cancelReason: null}},
	//  params: undefined}
	body := unhex(t, "b90002"+
		"656576656e74"+"b90004"+
		"696576656e7454797065"+"6b72756e5f63726561746564"+
		"6d636f7272656c6174696f6e4964"+"f7"+
		"6b7370656356657273696f6e"+"03"+
		"696576656e7444617461"+"b90006"+
		"6c776f726b666c6f774e616d65"+"6177"+
		"6c6465706c6f796d656e744964"+"6164"+
		"65696e707574"+"d84043010203"+
		"70657865637574696f6e436f6e74657874"+"b900016161f6"+
		"6a61747472696275746573"+"f7"+
		"6c63616e63656c526561736f6e"+"f6"+
		"66706172616d73"+"f7")
	got := accepted(t, "/v1/events", []byte(body), nil)
	require.Equal(t, world.CreateEvent{
		RequestID: "req_made_up", Type: world.EventRunCreated, SpecVersion: 3,
		Data: world.Fields{
			{Key: "workflowName", Value: unhex(t, "6177")},
			{Key: "deploymentId", Value: unhex(t, "6164")},
			{Key: "input", Value: unhex(t, "d84043010203")},
			{Key: "executionContext", Value: unhex(t, "b900016161f6")},
		},
	}, got)
}

// JavaScript text with half a surrogate pair is encoded as bytes that are not UTF-8; its bytes are kept, and made
// readable in JSON answers.
func TestLoneSurrogates(t *testing.T) {
	t.Parallel()
	body := unhex(t, "a1"+"656576656e74"+"a3"+"696576656e7454797065"+"6c686f6f6b5f63726561746564"+"6d636f7272656c6174696f6e4964"+"6168"+
		"696576656e7444617461"+"a1"+"65746f6b656e"+"64"+"61eda0bd")
	got := accepted(t, "/v1/runs/r/events", []byte(body), nil)
	require.Equal(t, world.Fields{{Key: "token", Value: unhex(t, "6461eda0bd")}}, got.Data)
}

func TestMomentsInEventDataAreStoredAsIntegers(t *testing.T) {
	t.Parallel()
	event := m{"eventType": "wait_created", "correlationId": "wait_1", "eventData": m{"resumeAt": cbor.RawMessage(unhex(t, "c1fb41d954fc4007df3b"))}}
	got := accepted(t, "/v1/runs/"+runID+"/events", m{"event": event}, nil)
	require.Equal(t, world.Fields{{Key: "resumeAt", Value: unhex(t, "1b0000018bcfe5687b")}}, got.Data)
}

// curl and other languages send JSON; the same CBOR is stored.
func TestCreateEventInJSON(t *testing.T) {
	t.Parallel()
	got := accepted(t, "/v1/events", `{"event":{"eventType":"run_created","specVersion":3,"eventData":{
		"deploymentId":"d","workflowName":"w","input":{"__type":"Uint8Array","data":"AQID"},"attributes":null}},"params":{"occurredAt":"2023-11-14T22:13:20.123Z"}}`, nil)
	require.Equal(t, world.Fields{
		{Key: "deploymentId", Value: unhex(t, "6164")},
		{Key: "workflowName", Value: unhex(t, "6177")},
		{Key: "input", Value: unhex(t, "43010203")},
	}, got.Data)
	require.Equal(t, world.Millis(1700000000123), got.OccurredAt)
}

func TestEventResult(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		result world.EventResult
		want   string
	}{
		"nothing": {world.EventResult{}, `{}`},
		"everything": {world.EventResult{
			Event: &world.Event{EventID: "e", RunID: "r", Type: "t", CreatedAt: 1},
			Run:   &world.Run{RunID: "r", Status: "s"}, Step: &world.Step{StepID: "s"}, Hook: &world.Hook{HookID: "h"},
			Wait: &world.Wait{WaitID: "w", RunID: "r", Status: "completed", ResumeAt: 2, CompletedAt: 3, CreatedAt: 1, UpdatedAt: 3, SpecVersion: 4},
			Events: []world.Event{
				{EventID: "e", RunID: "r", Type: "t", CreatedAt: 1},
			},
			Cursor: "c", HasMore: true, MaxEvents: 25000, StepCreated: true,
		}, `{"event":{"eventId":"e","runId":"r","eventType":"t","createdAt":1},` +
			`"run":{"runId":"r","status":"s","deploymentId":"","workflowName":"","createdAt":0,"updatedAt":0},` +
			`"step":{"runId":"","stepId":"s","stepName":"","status":"","attempt":0,"createdAt":0,"updatedAt":0},` +
			`"hook":{"runId":"","hookId":"h","token":"","ownerId":"","projectId":"","environment":"","isWebhook":false,"createdAt":0},` +
			`"wait":{"waitId":"w","runId":"r","status":"completed","resumeAt":2,"completedAt":3,"createdAt":1,"updatedAt":3,"specVersion":4},` +
			`"events":[{"eventId":"e","runId":"r","eventType":"t","createdAt":1}],"cursor":"c","hasMore":true,"maxEvents":25000,"stepCreated":true}`},
		// An empty log that was requested differs from none.
		"an empty log": {world.EventResult{Events: []world.Event{}}, `{"events":[],"cursor":null,"hasMore":false}`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFakes(t)
			f.store.createEvent = func(world.CreateEvent) (world.EventResult, error) { return c.result, nil }
			status, body := post(t, newServer(t, f), "/v1/runs/"+runID+"/events", `{"event":{"eventType":"run_started"}}`)
			require.Equal(t, http.StatusOK, status)
			require.Equal(t, c.want, body)
		})
	}
}

// Each of these is refused with a sentence that names the field, and without a call to the store: the fake has no
// function, so a call would fail the test.
func TestBadEvents(t *testing.T) {
	t.Parallel()
	event := func(kind string, data m) m {
		return m{"event": m{"eventType": kind, "correlationId": "c_1", "eventData": data}}
	}
	cases := map[string]struct {
		body any
		want string
	}{
		"no event":           {m{}, "body.event is missing"},
		"event is a list":    {m{"event": []int{}}, "body.event must be an object"},
		"body is a list":     {[]int{1}, "body must be an object"},
		"no type":            {m{"event": m{}}, "event.eventType is missing"},
		"unknown type":       {m{"event": m{"eventType": "run_paused"}}, `event.eventType "run_paused" is not one that a client may send`},
		"the world's own":    {m{"event": m{"eventType": "hook_conflict", "correlationId": "h"}}, `event.eventType "hook_conflict" is not one that a client may send`},
		"type is a number":   {m{"event": m{"eventType": 1}}, "body.event.eventType must be text"},
		"no correlation":     {m{"event": m{"eventType": "step_started"}}, "event.correlationId is missing, step_started events need it"},
		"correlation braces": {m{"event": m{"eventType": "step_started", "correlationId": "{x}"}}, "body.event.correlationId must be an id"},
		"data is text":       {m{"event": m{"eventType": "run_started", "eventData": "x"}}, "event.eventData must be an object"},
		"negative spec":      {m{"event": m{"eventType": "run_started", "specVersion": -1}}, "body.event.specVersion must be a whole number"},
		"fraction of a spec": {m{"event": m{"eventType": "run_started", "specVersion": 1.5}}, "body.event.specVersion must be a whole number"},
		"params is text":     {m{"event": m{"eventType": "run_started"}, "params": "x"}, "body.params must be an object"},
		"resolveData":        {m{"event": m{"eventType": "run_started"}, "params": m{"resolveData": "some"}}, "resolveData must be all or none"},
		"v1Compat":           {m{"event": m{"eventType": "run_started"}, "params": m{"v1Compat": 1}}, "body.params.v1Compat must be true or false"},
		"occurredAt":         {m{"event": m{"eventType": "run_started"}, "params": m{"occurredAt": "soon"}}, "body.params.occurredAt must be a timestamp"},
		"eventCount":         {m{"event": m{"eventType": "run_started"}, "params": m{"eventCount": -2}}, "body.params.eventCount must be a whole number"},
		"logEnd":             {m{"event": m{"eventType": "run_started"}, "params": m{"logEnd": 3}}, "body.params.logEnd must be an object"},
		"logEnd's time":      {m{"event": m{"eventType": "run_started"}, "params": m{"logEnd": m{"position": 3, "createdAt": "soon"}}}, "body.params.logEnd.createdAt must be a timestamp"},
		"logEnd's position":  {m{"event": m{"eventType": "run_started"}, "params": m{"logEnd": m{"createdAt": 1700000000122}}}, "body.params.logEnd.position must be the position of an event"},
		"logEnd far away":    {m{"event": m{"eventType": "run_started"}, "params": m{"logEnd": m{"position": 1 << 40}}}, "body.params.logEnd.position must be the position of an event"},

		"run without input":      {event("run_created", m{"deploymentId": "d", "workflowName": "w"}), "event.eventData.input is missing"},
		"run with null input":    {event("run_created", m{"deploymentId": "d", "workflowName": "w", "input": nil}), "event.eventData.input is missing"},
		"run without deployment": {event("run_created", m{"workflowName": "w", "input": 1}), "event.eventData.deploymentId is missing"},
		"run without name":       {event("run_created", m{"deploymentId": "d", "input": 1}), "event.eventData.workflowName is missing"},
		"failure without error":  {event("run_failed", m{}), "event.eventData.error is missing"},
		"attributes":             {event("attr_set", m{"writer": m{}}), "event.eventData.changes is missing"},
		"attributes' writer":     {event("attr_set", m{"changes": []int{}}), "event.eventData.writer is missing"},
		"step without name":      {event("step_created", m{"input": 1}), "event.eventData.stepName is missing"},
		"step without result":    {event("step_completed", m{}), "event.eventData.result is missing"},
		"step without error":     {event("step_failed", m{}), "event.eventData.error is missing"},
		"retry without error":    {event("step_retrying", m{}), "event.eventData.error is missing"},
		"hook without token":     {event("hook_created", m{}), "event.eventData.token is missing"},
		"hook without payload":   {event("hook_received", m{}), "event.eventData.payload is missing"},
		"wait without a time":    {event("wait_created", m{}), "event.eventData.resumeAt is missing"},

		"token is a number":   {event("hook_created", m{"token": 5}), "event.eventData.token must be text"},
		"token too long":      {event("hook_created", m{"token": string(make([]byte, 4097))}), "event.eventData.token has 4097 bytes, the limit is 4096"},
		"stepName empty":      {event("step_created", m{"stepName": "", "input": 1}), "event.eventData.stepName is empty"},
		"resumeAt is a word":  {event("wait_created", m{"resumeAt": "tomorrow"}), "event.eventData.resumeAt must be a timestamp"},
		"retryAfter is a map": {event("step_retrying", m{"error": "e", "retryAfter": m{}}), "event.eventData.retryAfter must be a timestamp"},
		"isWebhook is text":   {event("hook_created", m{"token": "t", "isWebhook": "yes"}), "event.eventData.isWebhook must be true or false"},
		"attributes is text":  {event("run_started", m{"attributes": "a"}), "event.eventData.attributes must be an object"},
		"changes is a map":    {event("attr_set", m{"changes": m{}, "writer": m{}}), "event.eventData.changes must be a list"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			status, body := postCBOR(t, newServer(t, newFakes(t)), "/v1/runs/"+runID+"/events", c.body)
			require.Equal(t, http.StatusBadRequest, status)
			problem := errorOf(t, body)
			require.Contains(t, problem["message"], c.want)
			require.Equal(t, "invalid", problem["code"])
			require.Equal(t, "WorkflowWorldError", problem["name"])
			require.Equal(t, int64(400), problem["status"])
		})
	}
}

// postCBOR sends CBOR and asks for JSON.
func postCBOR(t *testing.T, s *Server, target string, body any) (int, string) {
	t.Helper()
	w := call{method: http.MethodPost, target: target, body: body, header: map[string]string{"Accept": input.TypeJSON}}.do(t, s)
	return w.Code, w.Body.String()
}

// Runs from before event sourcing logged events whose payloads are optional.
func TestLegacyEventsNeedNoPayload(t *testing.T) {
	t.Parallel()
	got := accepted(t, "/v1/runs/"+runID+"/events",
		m{"event": m{"eventType": "hook_received", "correlationId": "h", "eventData": m{"payload": nil}}, "params": m{"v1Compat": true}}, nil)
	require.Empty(t, got.Data)
	require.True(t, got.V1Compat)
}

func TestOnlyRunCreatedNeedsNoRun(t *testing.T) {
	t.Parallel()
	status, body := post(t, newServer(t, newFakes(t)), "/v1/events", `{"event":{"eventType":"run_started"}}`)
	require.Equal(t, http.StatusBadRequest, status)
	require.Equal(t, "runId is required for run_started events", errorOf(t, body)["message"])
}
