package httpapi

import (
	"context"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/httpapi/internal/input"
)

func fullRun(t testing.TB) world.Run {
	return world.Run{
		RunID: runID, Status: world.RunCompleted, DeploymentID: "dpl_1", WorkflowName: "workflow//a//b", SpecVersion: 7,
		ExecutionContext: raw(t, m{"z": nil}), Input: raw(t, []byte{1, 2}), Output: raw(t, []byte{}), Error: raw(t, m{"message": "x"}),
		ErrorCode: "USER_ERROR", Attributes: raw(t, m{}), EncryptionPublicKey: "key",
		CreatedAt: 1700000000001, UpdatedAt: 1700000000002, StartedAt: 1700000000003, CompletedAt: 1700000000004, ExpiredAt: 1700000000005,
	}
}

const fullRunJSON = `{"runId":"wrun_01HZX0000000000000000000AA","status":"completed","deploymentId":"dpl_1","workflowName":"workflow//a//b",` +
	`"specVersion":7,"executionContext":{"z":null},"input":{"__type":"Uint8Array","data":"AQI="},"output":{"__type":"Uint8Array","data":""},` +
	`"error":{"message":"x"},"errorCode":"USER_ERROR","attributes":{},"encryptionPublicKey":"key","createdAt":1700000000001,` +
	`"updatedAt":1700000000002,"startedAt":1700000000003,"completedAt":1700000000004,"expiredAt":1700000000005}`

// An entity has the SDK's field names, distinguishes empty bytes from absent ones, and leaves out absent fields instead
// of sending null.
func TestGetRun(t *testing.T) {
	t.Parallel()
	f := newFakes(t)
	f.store.getRun = func(_ context.Context, id string, none bool) (world.Run, error) {
		require.Equal(t, runID, id)
		if none {
			return world.Run{RunID: id, Status: world.RunPending, CreatedAt: 1, UpdatedAt: 2}, nil
		}
		return fullRun(t), nil
	}
	s := newServer(t, f)

	status, body := get(t, s, "/v1/runs/"+runID)
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, fullRunJSON, body)

	_, body = get(t, s, "/v1/runs/"+runID+"?resolveData=none")
	require.Equal(t, `{"runId":"wrun_01HZX0000000000000000000AA","status":"pending","deploymentId":"","workflowName":"","createdAt":1,"updatedAt":2}`, body)

	w := call{method: http.MethodGet, target: "/v1/runs/" + runID, header: map[string]string{"Accept": input.TypeCBOR}}.do(t, s)
	require.Equal(t, input.TypeCBOR, w.Header().Get("Content-Type"))
	got, ok := decoded(t, w.Body.Bytes()).(m)
	require.True(t, ok)
	require.Len(t, got, 17)
	require.Equal(t, int64(1700000000001), got["createdAt"])
	require.Equal(t, []byte{}, got["output"])
	require.Equal(t, []byte{1, 2}, got["input"])
}

func TestListRunsReadsEveryFilter(t *testing.T) {
	t.Parallel()
	cases := map[string]world.RunQuery{
		"":                                   {},
		"?workflowName=a%2Fb&status=running": {WorkflowName: "a/b", Statuses: []world.RunStatus{world.RunRunning}},
		"?status=failed&status=cancelled":    {Statuses: []world.RunStatus{world.RunFailed, world.RunCancelled}},
		"?status=":                           {NoMatch: true},
		"?limit=5&cursor=c%7C1&sortOrder=asc&resolveData=none": {
			Page: world.PageRequest{Limit: 5, Cursor: "c|1", Order: world.Ascending}, ResolveNone: true,
		},
		"?createdFrom=1764547200000&createdBefore=1764550800000": {CreatedFrom: 1764547200000, CreatedBefore: 1764550800000},
		"?limit=999999": {Page: world.PageRequest{Limit: 1000}},
	}
	for query, want := range cases {
		t.Run(query, func(t *testing.T) {
			t.Parallel()
			f := newFakes(t)
			f.store.listRuns = func(q world.RunQuery) (world.Page[world.Run], error) {
				require.Equal(t, want, q)
				return world.Page[world.Run]{}, nil
			}
			status, body := get(t, newServer(t, f), "/v1/runs"+query)
			require.Equal(t, http.StatusOK, status)
			require.Equal(t, `{"data":[],"cursor":null,"hasMore":false}`, body)
		})
	}
}

// A page that is not empty has a cursor even when nothing follows.
func TestPageKeepsItsCursor(t *testing.T) {
	t.Parallel()
	f := newFakes(t)
	f.store.listRuns = func(world.RunQuery) (world.Page[world.Run], error) {
		return world.Page[world.Run]{Data: []world.Run{fullRun(t)}, Cursor: "1|x"}, nil
	}
	_, body := get(t, newServer(t, f), "/v1/runs")
	require.Equal(t, `{"data":[`+fullRunJSON+`],"cursor":"1|x","hasMore":false}`, body)
}

func TestSteps(t *testing.T) {
	t.Parallel()
	f := newFakes(t)
	step := world.Step{
		RunID: runID, StepID: "step_1", StepName: "step//x", Status: world.StepRunning, Input: raw(t, []byte("i")), Output: raw(t, []byte("o")),
		Error: raw(t, "e"), Attempt: 2, SpecVersion: 3, CreatedAt: 1, UpdatedAt: 2, StartedAt: 3, CompletedAt: 4, RetryAfter: 5,
	}
	const stepJSON = `{"runId":"wrun_01HZX0000000000000000000AA","stepId":"step_1","stepName":"step//x","status":"running",` +
		`"input":{"__type":"Uint8Array","data":"aQ=="},"output":{"__type":"Uint8Array","data":"bw=="},"error":"e","attempt":2,"specVersion":3,` +
		`"createdAt":1,"updatedAt":2,"startedAt":3,"completedAt":4,"retryAfter":5}`
	var askedRun string
	f.store.getStep = func(run, id string, none bool) (world.Step, error) {
		askedRun = run
		require.Equal(t, "step_1", id)
		require.True(t, none)
		return step, nil
	}
	f.store.listSteps = func(q world.StepQuery) (world.Page[world.Step], error) {
		require.Equal(t, world.StepQuery{RunID: runID, Page: world.PageRequest{Limit: 1, Order: world.Descending}}, q)
		return world.Page[world.Step]{Data: []world.Step{step}, Cursor: "c", HasMore: true}, nil
	}
	s := newServer(t, f)

	_, body := get(t, s, "/v1/runs/"+runID+"/steps/step_1?resolveData=none")
	require.Equal(t, stepJSON, body)
	require.Equal(t, runID, askedRun)
	_, body = get(t, s, "/v1/steps/step_1?resolveData=none")
	require.Equal(t, stepJSON, body)
	require.Empty(t, askedRun)
	_, body = get(t, s, "/v1/runs/"+runID+"/steps?limit=1&sortOrder=desc")
	require.Equal(t, `{"data":[`+stepJSON+`],"cursor":"c","hasMore":true}`, body)

	// Attempt 0 is a number, not an absent field.
	step = world.Step{RunID: runID, StepID: "step_1", Status: world.StepPending, CreatedAt: 1, UpdatedAt: 1}
	_, body = get(t, s, "/v1/steps/step_1?resolveData=none")
	require.Equal(t, `{"runId":"wrun_01HZX0000000000000000000AA","stepId":"step_1","stepName":"","status":"pending","attempt":0,"createdAt":1,"updatedAt":1}`, body)
}

func TestHooks(t *testing.T) {
	t.Parallel()
	f := newFakes(t)
	const token = "a/b c?#%2F😀\x00"
	hook := world.Hook{RunID: runID, HookID: "hook_1", Token: "t", IsWebhook: false, CreatedAt: 9}
	const hookJSON = `{"runId":"wrun_01HZX0000000000000000000AA","hookId":"hook_1","token":"t","ownerId":"","projectId":"","environment":"","isWebhook":false,"createdAt":9}`
	f.store.getHook = func(id string, none bool) (world.Hook, error) {
		require.Equal(t, "hook_1", id)
		require.False(t, none)
		return hook, nil
	}
	f.store.getHookByToken = func(got string, none bool) (world.Hook, error) {
		require.Equal(t, token, got)
		require.True(t, none)
		full := hook
		full.OwnerID, full.ProjectID, full.Environment, full.Metadata = "o", "p", "e", raw(t, []byte{})
		full.IsWebhook, full.IsSystem, full.SpecVersion, full.TokenRetentionUntil = true, true, 6, 10
		return full, nil
	}
	f.store.listHooks = func(q world.HookQuery) (world.Page[world.Hook], error) {
		require.Equal(t, world.HookQuery{RunID: runID}, q)
		return world.Page[world.Hook]{Data: []world.Hook{hook}, Cursor: "c"}, nil
	}
	s := newServer(t, f)

	_, body := get(t, s, "/v1/hooks/hook_1")
	require.Equal(t, hookJSON, body)
	_, body = get(t, s, "/v1/hooks/by-token?resolveData=none&token=a%2Fb%20c%3F%23%252F%F0%9F%98%80%00")
	require.Equal(t, `{"runId":"wrun_01HZX0000000000000000000AA","hookId":"hook_1","token":"t","ownerId":"o","projectId":"p","environment":"e",`+
		`"metadata":{"__type":"Uint8Array","data":""},"isWebhook":true,"isSystem":true,"specVersion":6,"createdAt":9,"tokenRetentionUntil":10}`, body)
	_, body = get(t, s, "/v1/hooks?runId="+runID)
	require.Equal(t, `{"data":[`+hookJSON+`],"cursor":"c","hasMore":false}`, body)
}

func TestEventsAreListed(t *testing.T) {
	t.Parallel()
	f := newFakes(t)
	event := world.Event{
		EventID: "evnt_1", RunID: runID, Type: world.EventWaitCreated, CorrelationID: "wait_1", SpecVersion: 7, CreatedAt: 5, OccurredAt: 4, ResumeID: "r",
		Data: world.Fields{{Key: "zzz", Value: raw(t, []byte{})}, {Key: "aaa", Value: raw(t, 1)}},
	}
	const eventJSON = `{"eventId":"evnt_1","runId":"wrun_01HZX0000000000000000000AA","eventType":"wait_created","correlationId":"wait_1","specVersion":7,` +
		`"createdAt":5,"occurredAt":4,"resumeId":"r","eventData":{"zzz":{"__type":"Uint8Array","data":""},"aaa":1}}`
	var asked world.EventQuery
	f.store.listEvents = func(q world.EventQuery) (world.Page[world.Event], error) {
		asked = q
		return world.Page[world.Event]{Data: []world.Event{event, {EventID: "e", RunID: runID, Type: world.EventRunStarted, CreatedAt: 6}}, Cursor: "2"}, nil
	}
	f.store.getEvent = func(run, id string, none bool) (world.Event, error) {
		require.Equal(t, []any{runID, "evnt_1", true}, []any{run, id, none})
		return event, nil
	}
	s := newServer(t, f)
	const page = `{"data":[` + eventJSON + `,{"eventId":"e","runId":"wrun_01HZX0000000000000000000AA","eventType":"run_started","createdAt":6}],"cursor":"2","hasMore":false}`

	// A log without a limit is everything that is left; the events of an entity have a default limit.
	_, body := get(t, s, "/v1/runs/"+runID+"/events?cursor=1")
	require.Equal(t, page, body)
	require.Equal(t, world.EventQuery{RunID: runID, Page: world.PageRequest{Cursor: "1"}}, asked)
	_, body = get(t, s, "/v1/events?correlationId=wait_1")
	require.Equal(t, page, body)
	require.Equal(t, world.EventQuery{CorrelationID: "wait_1", Page: world.PageRequest{Limit: 100}}, asked)
	_, _ = get(t, s, "/v1/events?correlationId=wait_1&limit=7&runId="+runID)
	require.Equal(t, world.EventQuery{CorrelationID: "wait_1", RunID: runID, Page: world.PageRequest{Limit: 7}}, asked)
	_, body = get(t, s, "/v1/runs/"+runID+"/events/evnt_1?resolveData=none")
	require.Equal(t, eventJSON, body)
}
