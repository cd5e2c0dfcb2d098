package httpapi

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
)

// pairTest is a server whose events and messages are carried out together by inOrder.
type pairTest struct {
	*Server
	fakes   *fakes
	inOrder func(event world.CreateEvent, message world.Message) (EventAndMessage, bool)
	counted map[string][]int // statuses by route
}

func newPairTest(t *testing.T) *pairTest {
	t.Helper()
	p := &pairTest{fakes: newFakes(t), counted: map[string][]int{}}
	p.Server = newServer(t, p.fakes, func(c *Config, deps *Deps) {
		deps.InOrder = func(_ context.Context, event world.CreateEvent, message world.Message) (EventAndMessage, bool) {
			return p.inOrder(event, message)
		}
		c.Observe = func(_, route string, status int, _ time.Duration) {
			p.counted[route] = append(p.counted[route], status)
		}
	})
	return p
}

func resultOf(event world.CreateEvent) world.EventResult {
	return world.EventResult{Event: &world.Event{EventID: "wevt_1", RunID: event.RunID, Type: event.Type}}
}

const eventRoute = "/v1/runs/:runId/events"

// An event and its message are decoded first and carried out together; each has its own answer and is counted. The app
// that sends the message is registered before.
func TestAnEventAndItsMessageAreCarriedOutTogether(t *testing.T) {
	t.Parallel()
	p := newPairTest(t)
	var registered []world.App
	p.fakes.apps.register = func(app world.App) error {
		registered = append(registered, app)
		return nil
	}
	p.inOrder = func(event world.CreateEvent, message world.Message) (EventAndMessage, bool) {
		require.Len(t, registered, 1)
		require.Equal(t, []string{"event of step_1", "message of step_1"}, []string{event.RequestID, message.RequestID})
		require.Equal(t, []string{runID, runID, "step_1"}, []string{event.RunID, message.RunID, message.StepID})
		require.Equal(t, "dpl_own", message.DeploymentID)
		return EventAndMessage{Event: resultOf(event), MessageID: "msg_1"}, true
	}
	call := eventThenQueue(t, "step_1")
	call["then"] = inBundle(t, "/v1/queue", "message of step_1", m{
		"queueName": "__wkf_step_s", "message": m{"workflowRunId": runID, "stepId": "step_1"},
		"app": m{"baseUrl": "http://app", "deploymentId": "dpl_own"},
	})
	got := sendBundle(t, p.Server, nil, call)
	require.Equal(t, http.StatusOK, got[0].Status)
	require.Contains(t, string(got[0].Body), "wevt_1")
	require.Equal(t, http.StatusOK, got[0].Then.Status)
	require.Contains(t, string(got[0].Then.Body), "msg_1")
	require.Equal(t, []int{http.StatusOK}, p.counted[eventRoute])
	require.Equal(t, []int{http.StatusOK}, p.counted["/v1/queue"])
}

// A message after an event that is refused or cut is answered 424, whatever has happened to it.
func TestAMessageBehindARefusedEvent(t *testing.T) {
	t.Parallel()
	for name, one := range map[string]struct {
		made    func() EventAndMessage
		status  int
		counted int // of the message
	}{
		"refused": {func() EventAndMessage {
			return EventAndMessage{EventErr: world.Errorf(world.CodeRunExpired, "the run has ended"), MessageID: "msg_1"}
		}, http.StatusGone, http.StatusOK},
		"both refused": {func() EventAndMessage {
			away := world.Errorf(world.CodeUnavailable, "Redis is away")
			return EventAndMessage{EventErr: away, MessageErr: away}
		}, http.StatusServiceUnavailable, http.StatusServiceUnavailable},
		"cut":    {func() EventAndMessage { panic(http.ErrAbortHandler) }, http.StatusServiceUnavailable, http.StatusConflict},
		"broken": {func() EventAndMessage { panic("broken") }, http.StatusInternalServerError, http.StatusConflict},
	} {
		p := newPairTest(t)
		p.inOrder = func(world.CreateEvent, world.Message) (EventAndMessage, bool) { return one.made(), true }
		got := sendBundle(t, p.Server, nil, eventThenQueue(t, "step_1"))
		require.Equal(t, one.status, got[0].Status, name)
		require.Equal(t, &bundledReply{Status: http.StatusFailedDependency}, got[0].Then, name)
		require.Equal(t, []int{one.counted}, p.counted["/v1/queue"], name)
	}
}

// A message that could not be queued after its event has its own answer.
func TestAMessageThatIsRefusedBehindItsEvent(t *testing.T) {
	t.Parallel()
	p := newPairTest(t)
	p.inOrder = func(event world.CreateEvent, _ world.Message) (EventAndMessage, bool) {
		return EventAndMessage{Event: resultOf(event), MessageErr: &world.Error{Code: world.CodeUnavailable, Message: "Redis is out of memory", RetryAfter: 2}}, true
	}
	got := sendBundle(t, p.Server, nil, eventThenQueue(t, "step_1"))
	require.Equal(t, http.StatusOK, got[0].Status)
	require.Equal(t, http.StatusServiceUnavailable, got[0].Then.Status)
	require.Equal(t, "2", got[0].Then.RetryAfter)
	require.Contains(t, string(got[0].Then.Body), "Redis is out of memory")
}

// A pair that is not carried out together is made in order: the event, and then the message if the event was accepted.
func TestAnEventAndItsMessageOneAfterTheOther(t *testing.T) {
	t.Parallel()
	unreadable := inBundle(t, "/v1/queue", "message", m{"queueName": "none"})
	for name, one := range map[string]struct {
		refused error
		then    m
		asked   bool // whether they can be carried out together
		order   []string
		status  int // of the message
		counted int
	}{
		"declined":                      {asked: true, order: []string{"event of step_1", "message of step_1"}, status: http.StatusOK, counted: http.StatusOK},
		"declined, and refused":         {refused: world.Errorf(world.CodeConflict, "no"), asked: true, order: []string{"event of step_1"}, status: http.StatusFailedDependency, counted: http.StatusConflict},
		"a message that cannot be read": {then: unreadable, order: []string{"event of step_1"}, status: http.StatusBadRequest, counted: http.StatusBadRequest},
	} {
		p := newPairTest(t)
		var order []string
		asked := false
		p.inOrder = func(world.CreateEvent, world.Message) (EventAndMessage, bool) {
			asked = true
			return EventAndMessage{}, false
		}
		p.fakes.store.createEvent = func(event world.CreateEvent) (world.EventResult, error) {
			order = append(order, event.RequestID)
			return resultOf(event), one.refused
		}
		p.fakes.queue.enqueue = func(message world.Message) (string, error) {
			order = append(order, message.RequestID)
			return "msg_1", nil
		}
		call := eventThenQueue(t, "step_1")
		if one.then != nil {
			call["then"] = one.then
		}
		got := sendBundle(t, p.Server, nil, call)
		require.Equal(t, one.asked, asked, name)
		require.Equal(t, one.order, order, name)
		require.Equal(t, one.status, got[0].Then.Status, name)
		require.Equal(t, []int{one.counted}, p.counted["/v1/queue"], name)
	}
}

// An event that cannot be decoded is refused, and the message is ignored.
func TestNothingIsDoneBehindAnEventThatCannotBeRead(t *testing.T) {
	t.Parallel()
	p := newPairTest(t)
	call := eventThenQueue(t, "step_1")
	call["body"] = inBundle(t, "/v1/runs/"+runID+"/events", "", m{"event": m{"eventType": "step_created"}})["body"]
	got := sendBundle(t, p.Server, nil, call)
	require.Equal(t, http.StatusBadRequest, got[0].Status)
	require.Equal(t, &bundledReply{Status: http.StatusFailedDependency}, got[0].Then)
	require.Equal(t, []int{http.StatusConflict}, p.counted["/v1/queue"])
}
