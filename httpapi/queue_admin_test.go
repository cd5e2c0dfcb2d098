package httpapi

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
)

func adminServer(t *testing.T, f *fakes, messages ...world.MessageInfo) (*Server, *fakeAdmin) {
	t.Helper()
	admin := &fakeAdmin{messages: messages, paused: map[world.Kind]bool{}}
	return newServer(t, f, func(_ *Config, d *Deps) { d.Admin = admin }), admin
}

func TestQueueIsShown(t *testing.T) {
	t.Parallel()
	s, admin := adminServer(t, newFakes(t), world.MessageInfo{
		MessageID: "msg_1", Kind: world.KindStep, QueueName: "__wkf_step_x", State: world.MessageWaitingForApp, RunID: runID, StepID: "step_1", DeploymentID: "dpl_1",
		IdempotencyKey: "step_1", EnqueuedAt: 1, NextAt: 2, Attempt: 3, Failed: 1, Rescheduled: 4, Reason: "gone", WaitsFor: "dpl_1", Size: 5, ContentType: "application/cbor",
	})
	const message = `{"messageId":"msg_1","queue":"steps","state":"stalled","queueName":"__wkf_step_x","runId":"` + runID + `","stepId":"step_1",` +
		`"deploymentId":"dpl_1","idempotencyKey":"step_1","enqueuedAt":1,"nextAt":2,"attempt":3,"failed":1,"rescheduled":4,"reason":"gone",` +
		`"waitsFor":"dpl_1","size":5,"contentType":"application/cbor"}`
	for target, want := range map[string]string{
		"/v1/queue": `{"data":[{"queue":"flows","name":"workflow_flows","paused":false,"pending":3,"active":0,"scheduled":0,"retry":0,"stalled":0,"dead":0,"completed":0,"oldestPendingSince":5},` +
			`{"queue":"steps","name":"workflow_steps","paused":true,"pending":0,"active":0,"scheduled":0,"retry":0,"stalled":0,"dead":0,"completed":0}]}`,
		"/v1/queue/messages/msg_1":                                            message,
		"/v1/runs/" + runID + "/messages":                                     `{"data":[` + message + `]}`,
		"/v1/queue/messages?state=stalled&queue=steps&limit=7&runId=" + runID: `{"data":[` + message + `],"cursor":null,"hasMore":false}`,
	} {
		status, body := get(t, s, target)
		require.Equal(t, http.StatusOK, status, target)
		require.JSONEq(t, want, body, target)
	}
	require.Contains(t, admin.asked, world.MessageQuery{Kind: world.KindStep, State: world.MessageWaitingForApp, RunID: runID, Page: world.PageRequest{Limit: 7}})
	for target, want := range map[string]int{
		"/v1/queue/messages/msg_2": http.StatusNotFound, "/v1/queue/messages?state=lost": http.StatusBadRequest,
		"/v1/queue/messages?queue=mail": http.StatusBadRequest, "/v1/queue/messages?runId=%20": http.StatusBadRequest,
	} {
		status, _ := get(t, s, target)
		require.Equal(t, want, status, target)
	}
	status, body := get(t, newServer(t, newFakes(t)), "/v1/queue")
	require.Equal(t, http.StatusNotFound, status, body)
}

func TestQueueIsPausedAndResumed(t *testing.T) {
	t.Parallel()
	s, admin := adminServer(t, newFakes(t))
	status, body := post(t, s, "/v1/queue/steps/pause", nil)
	require.Equal(t, http.StatusOK, status, body)
	require.Equal(t, map[world.Kind]bool{world.KindStep: true}, admin.paused)
	status, _ = post(t, s, "/v1/queue/steps/resume", nil)
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, map[world.Kind]bool{world.KindStep: false}, admin.paused)
	status, _ = post(t, s, "/v1/queue/mail/pause", nil)
	require.Equal(t, http.StatusBadRequest, status)
}

// A message of a finished run is redriven only on request; the answer says so.
func TestRedriveLeavesMessagesOfEndedRuns(t *testing.T) {
	t.Parallel()
	f := newFakes(t)
	f.store.getRuns = func(ids []string, none bool) ([]*world.Run, error) {
		require.True(t, none)
		require.Equal(t, []string{"wrun_live", "wrun_ended", "wrun_unknown"}, ids)
		return []*world.Run{{Status: world.RunRunning}, {Status: world.RunFailed}, nil}, nil
	}
	dead := func(id, run string) world.MessageInfo {
		return world.MessageInfo{MessageID: id, RunID: run, State: world.MessageDead}
	}
	s, admin := adminServer(t, f, dead("msg_1", "wrun_live"), dead("msg_2", "wrun_ended"), dead("msg_3", ""), dead("msg_4", "wrun_unknown"),
		world.MessageInfo{MessageID: "msg_5", State: world.MessagePending})
	status, body := post(t, s, "/v1/queue/redrive", `{"all":true}`)
	require.Equal(t, http.StatusOK, status, body)
	require.JSONEq(t, `{"redriven":3,"results":[{"messageId":"msg_1","runId":"wrun_live","outcome":"redriven"},`+
		`{"messageId":"msg_2","runId":"wrun_ended","outcome":"run_ended"},{"messageId":"msg_3","outcome":"redriven"},`+
		`{"messageId":"msg_4","runId":"wrun_unknown","outcome":"redriven"}]}`, body)
	require.Equal(t, []string{"msg_1", "msg_3", "msg_4"}, admin.redriven)

	status, body = post(t, s, "/v1/queue/redrive", `{"runId":"wrun_ended","force":true}`)
	require.Equal(t, http.StatusOK, status, body)
	require.JSONEq(t, `{"redriven":1,"results":[{"messageId":"msg_2","runId":"wrun_ended","outcome":"redriven"}]}`, body)
	_, body = post(t, s, "/v1/queue/redrive", `{"messageId":"msg_5"}`)
	require.JSONEq(t, `{"redriven":0,"results":[{"messageId":"msg_5","outcome":"not_dead"}]}`, body)
	status, _ = post(t, s, "/v1/queue/redrive", `{"messageId":"msg_9"}`)
	require.Equal(t, http.StatusNotFound, status)
	for _, bad := range []string{`{}`, `{"all":true,"runId":"wrun_1"}`, `{"messageId":"msg_1","all":true}`, `{"all":true,"queue":"mail"}`, `{"all":false}`} {
		status, body := post(t, s, "/v1/queue/redrive", bad)
		require.Equal(t, http.StatusBadRequest, status, bad+body)
	}
}

// A message is removed once; one that is in delivery may be dropped again.
func TestAMessageIsDropped(t *testing.T) {
	t.Parallel()
	s, admin := adminServer(t, newFakes(t),
		world.MessageInfo{MessageID: "msg_1", RunID: "wrun_1", State: world.MessageDead}, world.MessageInfo{MessageID: "msg_2", RunID: "wrun_1", State: world.MessageActive},
		world.MessageInfo{MessageID: "msg_3", State: world.MessagePending})
	for _, c := range []struct {
		id, want string
		status   int
	}{
		{"msg_1", `{"messageId":"msg_1","outcome":"dropped","state":"dead","runId":"wrun_1","left":1}`, http.StatusOK},
		{"msg_2", `{"messageId":"msg_2","outcome":"in_hand","state":"active","runId":"wrun_1","left":1}`, http.StatusOK},
		{"msg_2", `{"messageId":"msg_2","outcome":"in_hand","state":"active","runId":"wrun_1","left":1}`, http.StatusOK},
		{"msg_3", `{"messageId":"msg_3","outcome":"dropped","state":"pending"}`, http.StatusOK},
		{"msg_1", "", http.StatusNotFound},
	} {
		status, body := post(t, s, "/v1/queue/messages/"+c.id+"/drop", nil)
		require.Equal(t, c.status, status, body)
		if c.want != "" {
			require.JSONEq(t, c.want, body)
		}
	}
	require.Equal(t, []string{"msg_1", "msg_2", "msg_2", "msg_3"}, admin.dropped)
}

// BR-12: every call that ends a run removes the run's messages; other calls do not.
func TestQueueForgetsARunThatAnAnswerEnds(t *testing.T) {
	t.Parallel()
	f := newFakes(t)
	f.store.createEvent = func(r world.CreateEvent) (world.EventResult, error) {
		if r.RunID == "wrun_refused" {
			return world.EventResult{}, world.Errorf(world.CodeRunExpired, "it has ended")
		}
		return world.EventResult{}, nil
	}
	f.store.cancelRuns = func(world.CancelRuns) ([]world.CancelResult, error) {
		return []world.CancelResult{{RunID: "wrun_5", Outcome: world.Cancelled}, {RunID: "wrun_6", Outcome: world.AlreadyCancelled}, {RunID: "wrun_7", Outcome: world.CancelFailed}}, nil
	}
	f.store.updateRun = func(r world.UpdateLegacyRun) (world.Run, error) {
		return world.Run{RunID: r.RunID, Status: r.Status}, nil
	}
	forgotten := &forgetter{}
	s := newServer(t, f, func(_ *Config, d *Deps) { d.Forget = forgotten })
	event := func(run, kind string, data m) {
		post(t, s, "/v1/runs/"+run+"/events", m{"event": m{"eventType": kind, "specVersion": 2, "eventData": data}})
	}
	event("wrun_1", "run_started", m{})
	event("wrun_2", "run_completed", m{"output": 1})
	event("wrun_3", "run_failed", m{"error": m{"message": "no"}})
	event("wrun_4", "run_cancelled", m{})
	event("wrun_refused", "run_cancelled", m{})
	post(t, s, "/v1/runs/cancel", m{"runIds": []string{"wrun_5", "wrun_6", "wrun_7"}})
	post(t, s, "/v1/legacy/runs/wrun_8/cancel", nil)
	post(t, s, "/v1/legacy/runs/wrun_9/pause", nil)
	require.Equal(t, []string{"wrun_2", "wrun_3", "wrun_4", "wrun_5", "wrun_6", "wrun_8"}, forgotten.runs)
}

var _ world.QueueAdmin = (*fakeAdmin)(nil)
