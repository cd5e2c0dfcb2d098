package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/fxamacker/cbor/v2"
	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/httpapi/internal/bundle"
)

// inBundle returns the CBOR form of one call.
func inBundle(t *testing.T, path, key string, body m) m {
	t.Helper()
	item, err := cbor.Marshal(body)
	require.NoError(t, err)
	return m{"path": path, "key": key, "body": item}
}

type bundledReply struct {
	Status     int           `cbor:"status"`
	Body       []byte        `cbor:"body"`
	RetryAfter string        `cbor:"retryAfter"`
	Then       *bundledReply `cbor:"then"`
}

func sendBundle(t *testing.T, s *Server, header map[string]string, calls ...m) []bundledReply {
	t.Helper()
	w := call{method: http.MethodPost, target: "/v1/calls", body: m{"calls": calls}, header: header}.do(t, s)
	require.Equal(t, http.StatusOK, w.Code, w.Body.String())
	got := answersOf(t, w.Body.Bytes())
	require.Len(t, got, len(calls))
	return got
}

// answersOf reads the answers of a bundle.
func answersOf(t *testing.T, body []byte) []bundledReply {
	t.Helper()
	var got struct {
		Answers []bundledReply `cbor:"answers"`
	}
	require.NoError(t, cbor.Unmarshal(body, &got))
	return got.Answers
}

func stepCreated(id string) m {
	return m{"event": m{"eventType": "step_created", "correlationId": id, "specVersion": 3, "eventData": m{"stepName": "s", "input": []byte{1}}}}
}

// The second of three calls fails: the others succeed as if they were alone, each has its own key and answer, and the
// answers are in the order of the calls.
func TestBundleWithACallThatFails(t *testing.T) {
	t.Parallel()
	f := newFakes(t)
	var mu sync.Mutex
	keys := map[string]string{}
	f.store.createEvent = func(req world.CreateEvent) (world.EventResult, error) {
		mu.Lock()
		defer mu.Unlock()
		keys[req.CorrelationID] = req.RequestID
		if req.CorrelationID == "step_2" {
			return world.EventResult{}, &world.Error{Code: world.CodeUnavailable, Message: "Redis is away", RetryAfter: 3}
		}
		return world.EventResult{Event: &world.Event{EventID: "wevt_" + req.CorrelationID, RunID: runID, Type: req.Type}}, nil
	}
	f.queue.enqueue = func(msg world.Message) (string, error) {
		mu.Lock()
		defer mu.Unlock()
		keys["queue"] = msg.RequestID
		return "msg_7", nil
	}
	f.store.getRun = func(_ context.Context, id string, none bool) (world.Run, error) {
		require.True(t, none)
		return world.Run{RunID: id, WorkflowName: "w", Status: world.RunRunning}, nil
	}
	path := "/v1/runs/" + runID + "/events"
	got := sendBundle(t, newServer(t, f), nil,
		m{"path": "/v1/runs/" + runID + "?resolveData=none"},
		inBundle(t, path, "k1", stepCreated("step_1")), inBundle(t, path, "k2", stepCreated("step_2")),
		inBundle(t, path, "k3", stepCreated("step_3")),
		inBundle(t, "/v1/queue", "k4", m{"queueName": "__wkf_workflow_w", "message": m{"runId": runID}}))
	require.Equal(t, map[string]string{"step_1": "k1", "step_2": "k2", "step_3": "k3", "queue": "k4"}, keys)
	require.Contains(t, string(got[0].Body), string(world.RunRunning))
	got = got[1:]
	for i, id := range map[int]string{0: "step_1", 2: "step_3"} {
		require.Equal(t, http.StatusOK, got[i].Status)
		require.Contains(t, string(got[i].Body), "wevt_"+id)
	}
	require.Equal(t, http.StatusServiceUnavailable, got[1].Status)
	require.Equal(t, "3", got[1].RetryAfter)
	require.Contains(t, string(got[1].Body), "Redis is away")
	require.Contains(t, string(got[3].Body), "msg_7")
}

// A handler that panics, or wants its connection cut, affects only its own call.
func TestBundleWithAPanic(t *testing.T) {
	t.Parallel()
	f := newFakes(t)
	f.store.createEvent = func(req world.CreateEvent) (world.EventResult, error) {
		switch req.CorrelationID {
		case "step_1":
			panic(http.ErrAbortHandler)
		case "step_2":
			panic("broken")
		}
		return world.EventResult{Event: &world.Event{EventID: "wevt_3", RunID: runID, Type: req.Type}}, nil
	}
	path := "/v1/runs/" + runID + "/events"
	got := sendBundle(t, newServer(t, f), nil, inBundle(t, path, "", stepCreated("step_1")),
		inBundle(t, path, "", stepCreated("step_2")), inBundle(t, path, "", stepCreated("step_3")))
	require.Equal(t, []int{503, 500, 200}, []int{got[0].Status, got[1].Status, got[2].Status})
}

// eventThenQueue returns the CBOR form of an event and of the message to queue once it is written.
func eventThenQueue(t *testing.T, stepID string) m {
	t.Helper()
	pair := inBundle(t, "/v1/runs/"+runID+"/events", "event of "+stepID, stepCreated(stepID))
	pair["then"] = inBundle(t, "/v1/queue", "message of "+stepID,
		m{"queueName": "__wkf_step_s", "message": m{"workflowRunId": runID, "stepId": stepID}, "idempotencyKey": stepID})
	return pair
}

// A message is queued after its event is written, and not before; pairs do not wait for each other. Here the first
// event ends after the second one's message is queued.
func TestBundleQueuesAMessageAfterItsEvent(t *testing.T) {
	t.Parallel()
	f := newFakes(t)
	var mu sync.Mutex
	var order []string
	note := func(what string) {
		mu.Lock()
		defer mu.Unlock()
		order = append(order, what)
	}
	secondQueued := make(chan struct{})
	f.store.createEvent = func(req world.CreateEvent) (world.EventResult, error) {
		if req.CorrelationID == "step_1" {
			<-secondQueued
		}
		note(req.RequestID)
		return world.EventResult{Event: &world.Event{EventID: "wevt_" + req.CorrelationID, RunID: runID, Type: req.Type}}, nil
	}
	f.queue.enqueue = func(msg world.Message) (string, error) {
		note(msg.RequestID)
		if msg.IdempotencyKey == "step_2" {
			close(secondQueued)
		}
		return "msg_of_" + msg.IdempotencyKey, nil
	}
	got := sendBundle(t, newServer(t, f), nil, eventThenQueue(t, "step_1"), eventThenQueue(t, "step_2"))
	require.Equal(t, []string{"event of step_2", "message of step_2", "event of step_1", "message of step_1"}, order)
	for i, id := range []string{"step_1", "step_2"} {
		require.Equal(t, http.StatusOK, got[i].Status)
		require.Contains(t, string(got[i].Body), "wevt_"+id)
		require.Equal(t, http.StatusOK, got[i].Then.Status)
		require.Contains(t, string(got[i].Then.Body), "msg_of_"+id)
		require.Nil(t, got[i].Then.Then)
	}
}

// The message of a refused event is not queued, whatever the refusal; the other pairs of the bundle are not affected.
func TestBundleQueuesNothingAfterARefusedEvent(t *testing.T) {
	t.Parallel()
	refusals := map[string]struct {
		err    error
		status int
	}{
		"step_conflict": {world.Errorf(world.CodeConflict, "there is one"), http.StatusConflict},
		"step_late":     {world.Errorf(world.CodeRunExpired, "the run has ended"), http.StatusGone},
		"step_nowhere":  {world.Errorf(world.CodeRunNotFound, "no such run"), http.StatusNotFound},
		"step_away":     {&world.Error{Code: world.CodeUnavailable, Message: "Redis is away", RetryAfter: 3}, http.StatusServiceUnavailable},
		"step_cut":      {nil, http.StatusServiceUnavailable},
	}
	f := newFakes(t)
	f.store.createEvent = func(req world.CreateEvent) (world.EventResult, error) {
		if req.CorrelationID == "step_cut" {
			panic(http.ErrAbortHandler)
		}
		return world.EventResult{Event: &world.Event{RunID: runID, Type: req.Type}}, refusals[req.CorrelationID].err
	}
	var queued []string
	f.queue.enqueue = func(msg world.Message) (string, error) {
		queued = append(queued, msg.IdempotencyKey) // one at a time: there is one only
		return "msg_1", nil
	}
	calls := []m{eventThenQueue(t, "step_fine")}
	ids := []string{"step_fine"}
	for id := range refusals {
		calls = append(calls, eventThenQueue(t, id))
		ids = append(ids, id)
	}
	got := sendBundle(t, newServer(t, f), nil, calls...)
	require.Equal(t, []string{"step_fine"}, queued)
	require.Equal(t, http.StatusOK, got[0].Then.Status)
	for i, id := range ids[1:] {
		require.Equal(t, refusals[id].status, got[i+1].Status, id)
		require.Equal(t, &bundledReply{Status: http.StatusFailedDependency}, got[i+1].Then, id)
	}
}

// A refused message does not affect its event, and has its own answer.
func TestBundleWhoseMessageIsRefused(t *testing.T) {
	t.Parallel()
	f := newFakes(t)
	f.store.createEvent = func(req world.CreateEvent) (world.EventResult, error) {
		return world.EventResult{Event: &world.Event{EventID: "wevt_1", RunID: runID, Type: req.Type}}, nil
	}
	f.queue.enqueue = func(world.Message) (string, error) {
		return "", &world.Error{Code: world.CodeUnavailable, Message: "Redis is out of memory", RetryAfter: 2}
	}
	got := sendBundle(t, newServer(t, f), nil, eventThenQueue(t, "step_1"))
	require.Equal(t, http.StatusOK, got[0].Status)
	require.Contains(t, string(got[0].Body), "wevt_1")
	require.Equal(t, http.StatusServiceUnavailable, got[0].Then.Status)
	require.Equal(t, "2", got[0].Then.RetryAfter)
	require.Contains(t, string(got[0].Then.Body), "out of memory")
}

// The calls of a bundle go to the namespace of the bundle's token.
func TestBundleStaysInItsNamespace(t *testing.T) {
	t.Parallel()
	mainFakes, shop := newFakes(t), newFakes(t)
	var got []string
	var mu sync.Mutex
	shop.queue.enqueue = func(msg world.Message) (string, error) {
		mu.Lock()
		defer mu.Unlock()
		got = append(got, msg.RequestID)
		return "msg_1", nil
	}
	s := withNamespace(t, mainFakes, shop, "main")
	wake := m{"queueName": "__wkf_workflow_w", "message": m{"runId": runID}}
	sendBundle(t, s, bearer("shop-new"), inBundle(t, "/v1/queue", "a", wake), inBundle(t, "/v1/queue", "b", wake))
	require.ElementsMatch(t, []string{"a", "b"}, got)
	w := call{method: http.MethodPost, target: "/v1/calls", body: m{"calls": []m{inBundle(t, "/v1/queue", "a", wake)}}}.do(t, s)
	require.Equal(t, http.StatusUnauthorized, w.Code)
}

// If one call cannot be part of any bundle, the whole bundle is refused before any of its calls is made.
func TestBundlesThatAreRefused(t *testing.T) {
	t.Parallel()
	s := newServer(t, newFakes(t)) // the fakes fail the test on any call
	fine := inBundle(t, "/v1/queue", "", m{})
	many := make([]m, bundle.MaxCalls+1)
	for i := range many {
		many[i] = fine
	}
	after := func(then any) m { return m{"path": fine["path"], "body": fine["body"], "then": then} }
	pairs := make([]m, bundle.MaxCalls/2+1)
	for i := range pairs {
		pairs[i] = after(fine)
	}
	for name, c := range map[string]struct {
		calls any
		says  string
	}{
		"none":               {[]m{}, "body.calls is empty"},
		"no list":            {"all", "body.calls must be a list"},
		"too many":           {many, "more entries than the limit of 64"},
		"a bundle":           {[]m{fine, inBundle(t, "/v1/calls", "", m{})}, `POST "/v1/calls" cannot be part of a bundle`},
		"a live read":        {[]m{inBundle(t, "/v1/streams/s", "", m{})}, "cannot be part of a bundle"},
		"a list":             {[]m{{"path": "/v1/runs/" + runID + "/events"}}, `GET "/v1/runs/`},
		"a long poll":        {[]m{{"path": "/v1/runs/" + runID + "/wait"}}, "cannot be part of a bundle"},
		"a batch":            {[]m{inBundle(t, "/v1/runs/r/events/batch", "", m{})}, "cannot be part of a bundle"},
		"a text body":        {[]m{{"path": "/v1/queue", "body": "text"}}, "body.calls.body must be a byte string"},
		"a long key":         {[]m{{"path": "/v1/queue", "key": strings.Repeat("k", 129), "body": []byte{0}}}, "the limit is 128"},
		"too many with then": {pairs, "more entries than the limit of 64, those in then included"},
		"a then of a then":   {[]m{fine, after(after(fine))}, "body.calls.then.then"},
		"a then elsewhere":   {[]m{fine, after(inBundle(t, "/v1/calls", "", m{}))}, `POST "/v1/calls" cannot be part of a bundle`},
		"a then of no map":   {[]m{fine, after(0)}, "body.calls.then"},
		"another place":      {[]m{inBundle(t, "http://elsewhere/v1/queue", "", m{})}, "cannot be part of a bundle"},
	} {
		w := call{method: http.MethodPost, target: "/v1/calls", body: m{"calls": c.calls}}.do(t, s)
		require.Equal(t, http.StatusBadRequest, w.Code, name)
		require.Contains(t, fmt.Sprint(w.Body.String()), c.says, name)
	}
}
