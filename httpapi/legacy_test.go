package httpapi

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/httpapi/internal/transport"
)

// Every legacy call reaches its method with the fields of the body, and answers the entity.
func TestLegacyCalls(t *testing.T) {
	t.Parallel()
	f := newFakes(t)
	var got any
	run := world.Run{RunID: "r1", Status: world.RunPaused, WorkflowName: "w", CreatedAt: 1, UpdatedAt: 2}
	step := world.Step{RunID: "r1", StepID: "s1", StepName: "add", Status: world.StepRunning, Attempt: 2, CreatedAt: 1, UpdatedAt: 2}
	hook := world.Hook{RunID: "r1", HookID: "h1", Token: "t", CreatedAt: 1}
	f.store.createRun = func(req world.CreateLegacyRun) (world.Run, error) { got = req; return run, nil }
	f.store.updateRun = func(req world.UpdateLegacyRun) (world.Run, error) { got = req; return run, nil }
	f.store.createStep = func(req world.CreateLegacyStep) (world.Step, error) { got = req; return step, nil }
	f.store.updateStep = func(req world.UpdateLegacyStep) (world.Step, error) { got = req; return step, nil }
	f.store.appendEvent = func(req world.CreateLegacyEvent) (world.Event, error) {
		got = req
		return world.Event{EventID: "wevt_1", RunID: "r1", Type: req.Type, CreatedAt: 1}, nil
	}
	f.store.createHook = func(req world.CreateLegacyHook) (world.Hook, error) { got = req; return hook, nil }
	f.store.disposeHook = func(req world.DisposeLegacyHook) (world.Hook, error) { got = req; return hook, nil }
	s := newServer(t, f)
	const (
		runJSON  = `{"runId":"r1","status":"paused","deploymentId":"","workflowName":"w","createdAt":1,"updatedAt":2}`
		stepJSON = `{"runId":"r1","stepId":"s1","stepName":"add","status":"running","attempt":2,"createdAt":1,"updatedAt":2}`
		hookJSON = `{"runId":"r1","hookId":"h1","token":"t","ownerId":"","projectId":"","environment":"","isWebhook":false,"createdAt":1}`
	)
	two := 2
	item := func(text string) world.Raw { return mustCBOR(t, text) }
	for _, c := range []struct {
		path, body, answer string
		want               any
	}{
		{
			"/runs", `{"deploymentId":"d","workflowName":"w","input":[1],"executionContext":{"a":1},"resolveData":"none"}`, runJSON,
			world.CreateLegacyRun{
				DeploymentID: "d", WorkflowName: "w", Input: item("[1]"), ExecutionContext: item(`{"a":1}`), RequestID: "k", ResolveNone: true,
			},
		},
		{
			"/runs/r1", `{"status":"failed","output":[1],"error":"boom","executionContext":{"a":1}}`, runJSON,
			world.UpdateLegacyRun{
				RunID: "r1", Status: world.RunFailed, Output: item("[1]"), Error: raw(t, "boom"), ExecutionContext: item(`{"a":1}`), RequestID: "k",
			},
		},
		{"/runs/r1", `{"status":null}`, runJSON, world.UpdateLegacyRun{RunID: "r1", RequestID: "k"}},
		{"/runs/r1/cancel", `{"resolveData":"none"}`, runJSON, world.UpdateLegacyRun{RunID: "r1", Status: world.RunCancelled, RequestID: "k", ResolveNone: true}},
		{"/runs/r1/pause", ``, runJSON, world.UpdateLegacyRun{RunID: "r1", Status: world.RunPaused, RequestID: "k"}},
		{"/runs/r1/resume", `{}`, runJSON, world.UpdateLegacyRun{RunID: "r1", Status: world.RunRunning, Resume: true, RequestID: "k"}},
		{
			"/runs/r1/steps", `{"stepId":"s1","stepName":"add","input":[1]}`, stepJSON,
			world.CreateLegacyStep{RunID: "r1", StepID: "s1", StepName: "add", Input: item("[1]"), RequestID: "k"},
		},
		{
			"/runs/r1/steps/s1", `{"status":"failed","attempt":2,"error":{"message":"boom"},"retryAfter":"1970-01-01T00:00:05.001Z"}`, stepJSON,
			world.UpdateLegacyStep{RunID: "r1", StepID: "s1", Status: world.StepFailed, Attempt: &two, Error: item(`{"message":"boom"}`), RetryAfter: 5001, RequestID: "k"},
		},
		{
			"/runs/r1/events", `{"eventType":"wait_created","correlationId":"w1","eventData":{"resumeAt":"1970-01-01T00:00:05.001Z"}}`,
			`{"eventId":"wevt_1","runId":"r1","eventType":"wait_created","createdAt":1}`,
			world.CreateLegacyEvent{
				RunID: "r1", Type: world.EventWaitCreated, CorrelationID: "w1", Data: world.Fields{{Key: "resumeAt", Value: raw(t, 5001)}}, RequestID: "k",
			},
		},
		{
			"/runs/r1/hooks", `{"hookId":"h1","token":"a/b c","metadata":[1]}`, hookJSON,
			world.CreateLegacyHook{RunID: "r1", HookID: "h1", Token: "a/b c", Metadata: item("[1]"), RequestID: "k"},
		},
		{"/hooks/h1/dispose", ``, hookJSON, world.DisposeLegacyHook{HookID: "h1", RequestID: "k"}},
	} {
		request := call{method: http.MethodPost, target: "/v1/legacy" + c.path, header: map[string]string{transport.HeaderIdempotencyKey: "k"}}
		if c.body != "" {
			request.body = c.body
		}
		w := request.do(t, s)
		require.Equal(t, http.StatusOK, w.Code, "%s: %s", c.path, w.Body)
		require.Equal(t, c.answer, w.Body.String(), c.path)
		require.Equal(t, c.want, got, c.path)
	}
}

// No invalid call reaches the store.
func TestLegacyBadInput(t *testing.T) {
	t.Parallel()
	s := newServer(t, newFakes(t))
	for _, c := range []struct{ path, body, want string }{
		{"/runs", `{"workflowName":"w","input":[]}`, "body.deploymentId is missing"},
		{"/runs", `{"deploymentId":"d","input":[]}`, "body.workflowName is missing"},
		{"/runs", `{"deploymentId":"d","workflowName":"w"}`, "body.input is missing"},
		{"/runs", `{"deploymentId":"d","workflowName":"w","input":[],"executionContext":[]}`, "body.executionContext must be an object"},
		{"/runs/r1", `{"status":5}`, "body.status must be text"},
		{"/runs/r1", `{"error":5}`, "body.error must be text or an object"},
		{"/runs/r1/pause", `[]`, "body must be an object"},
		{"/runs/r1/steps", `{"stepName":"s","input":1}`, "body.stepId is missing"},
		{"/runs/r1/steps", `{"stepId":"s","input":1}`, "body.stepName is missing"},
		{"/runs/r1/steps", `{"stepId":"s","stepName":"s"}`, "body.input is missing"},
		{"/runs/r1/steps/s1", `{"attempt":-1}`, "body.attempt must be a whole number that is not negative"},
		{"/runs/r1/steps/s1", `{"retryAfter":"soon"}`, "body.retryAfter must be a timestamp: epoch milliseconds or an ISO 8601 text"},
		{"/runs/r1/events", `{}`, "body.eventType is missing"},
		{
			"/runs/r1/events", `{"eventType":"wait_created","eventData":{"resumeAt":"soon"}}`,
			"event.eventData.resumeAt must be a timestamp: epoch milliseconds or an ISO 8601 text",
		},
		{"/runs/r1/hooks", `{"token":"t"}`, "body.hookId is missing"},
		{"/runs/r1/hooks", `{"hookId":"h"}`, "body.token is missing"},
		{"/hooks/h1/dispose", `{"resolveData":"x"}`, "resolveData must be all or none"},
	} {
		status, body := post(t, s, "/v1/legacy"+c.path, c.body)
		require.Equal(t, http.StatusBadRequest, status, c.path+" "+c.body)
		require.Equal(t, c.want, errorOf(t, body)["message"], c.path+" "+c.body)
	}
	for _, path := range []string{"/runs/a%2Fb", "/runs/a%2Fb/cancel", "/runs/a%2Fb/steps", "/runs/r/steps/%00", "/runs/a%2Fb/events", "/runs/a%2Fb/hooks", "/hooks/../dispose"} {
		status, _ := post(t, s, "/v1/legacy"+path, `{}`)
		require.Contains(t, []int{http.StatusBadRequest, http.StatusNotFound}, status, path)
	}
}
