package main

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fxamacker/cbor/v2"
	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis/internal/redistest"
	"github.com/world-redis/world-redis/storage"
)

// answered is the answer to a call of a bundle.
type answered struct {
	Status int `cbor:"status"`
	Then   struct {
		Status int `cbor:"status"`
	} `cbor:"then"`
}

// callAndThen makes an event and wakes its run after it, in one call as SDK v4's client makes it.
func (w *wide) callAndThen(runID string, event m) answered {
	w.t.Helper()
	encode := func(v any) []byte {
		encoded, err := cbor.Marshal(v)
		require.NoError(w.t, err)
		return encoded
	}
	message := m{"queueName": "__wkf_workflow_wf", "message": m{"runId": runID}, "deploymentId": "dpl_1"}
	call := m{
		"path": "/v1/runs/" + runID + "/events", "body": encode(event),
		"then": m{"path": "/v1/queue", "body": encode(message)},
	}
	status, answer := w.do(http.MethodPost, "/v1/calls", "", encode(m{"calls": []m{call}}), "application/cbor")
	require.Equal(w.t, http.StatusOK, status, string(answer))
	var got struct {
		Answers []answered `cbor:"answers"`
	}
	require.NoError(w.t, cbor.Unmarshal(answer, &got))
	require.Len(w.t, got.Answers, 1)
	return got.Answers[0]
}

// endAndWake ends a step and wakes its run.
func (w *wide) endAndWake(runID, stepID string) {
	w.t.Helper()
	got := w.callAndThen(runID, m{"event": m{"eventType": "step_completed", "correlationId": stepID, "specVersion": 3, "eventData": m{"result": []byte{1}}}})
	require.Equal(w.t, http.StatusOK, got.Status)
	require.Equal(w.t, http.StatusOK, got.Then.Status)
}

// The end of a step, the wake-up that follows it, its claim and its preload: four scripts that are sent together, none
// of which waits for the answer of another.
func TestTheEndOfAStepAndItsWakeUpAreOneRoundTrip(t *testing.T) {
	t.Parallel()
	url, wakeUps := newWakenApp(t)
	r, environ := redisOf(t)
	var mu sync.Mutex
	var sent []string
	way := newCutter(t, r.Addr, 1, func(text string) {
		mu.Lock()
		defer mu.Unlock()
		sent = append(sent, text)
	})
	base, _, stop := startService(t, append(environ, "WORKFLOW_REDIS_URL=redis://"+way.Addr())...)
	t.Cleanup(func() { require.NoError(t, stop()) })
	w := &wide{t: t, base: base}
	post(t, base+"/v1/apps", fmt.Sprintf(`{"baseUrl":%q,"deploymentId":"dpl_1","sdk":"v4","attach":["run_started"]}`, url))
	runID := w.newRun([]byte("input"))
	w.accepted(runID, "run_started", "", nil)
	inOrder := func(text string, parts ...string) bool {
		for _, part := range parts {
			_, after, found := strings.Cut(text, part)
			if !found {
				return false
			}
			text = after
		}
		return true
	}

	// Sometimes the queue is still busy with the message before; then the next one is not claimed immediately. (At most
	// a hundred events are part of a preload.)
	for i := 0; ; i++ {
		require.Less(t, i, 30, "no wake-up was taken along with its event")
		stepID := fmt.Sprintf("step_%03d", i)
		w.accepted(runID, "step_created", stepID, m{"stepName": "s", "input": []byte{1}})
		w.accepted(runID, "step_started", stepID, nil)
		mu.Lock()
		sent = nil
		mu.Unlock()
		w.endAndWake(runID, stepID)
		d := <-wakeUps
		require.Contains(t, string(d.message), runID)
		require.Contains(t, string(d.preloaded), stepID)
		mu.Lock()
		together, taken := false, false
		for _, text := range sent {
			together = together || inOrder(text, "{"+runID+"}", stepID, ":t:msg_")
			taken = taken || inOrder(text, "{"+runID+"}", stepID, ":t:msg_", "flows}:pending", "{"+runID+"}")
		}
		mu.Unlock()
		require.True(t, together, "the message went by itself")
		if taken {
			return
		}
	}
}

// Redis has forgotten the script of the event, but not those of the queue, so the wake-up is delivered before the event
// is written. Another one follows, which has the event.
func TestAWakeUpThatWasAheadOfItsEventIsMadeOnceMore(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t) // of its own: no other test loads its scripts
	client := redistest.Client(t, server.Addr)
	url, wakeUps := newWakenApp(t)
	base, _, stop := startService(t, "WORKFLOW_REDIS_URL=redis://"+server.Addr)
	t.Cleanup(func() { require.NoError(t, stop()) })
	w := &wide{t: t, base: base}
	post(t, base+"/v1/apps", fmt.Sprintf(`{"baseUrl":%q,"deploymentId":"dpl_1","sdk":"v4","attach":["run_started"]}`, url))
	runID := w.newRun([]byte("input"))
	w.accepted(runID, "run_started", "", nil)
	w.accepted(runID, "step_created", "step_1", m{"stepName": "s", "input": []byte{1}})
	w.accepted(runID, "step_started", "step_1", nil)

	require.NoError(t, client.ScriptFlush(t.Context()).Err())
	wake := func() {
		post(t, base+"/v1/queue", fmt.Sprintf(`{"queueName":"__wkf_workflow_wf","message":{"runId":%q},"deploymentId":"dpl_1"}`, runID))
		require.NotContains(t, string((<-wakeUps).preloaded), "step_completed")
	}
	wake() // loads what the queue needs
	wake()
	w.endAndWake(runID, "step_1")
	for {
		select {
		case d := <-wakeUps:
			if strings.Contains(string(d.preloaded), "step_completed") {
				return
			}
		case <-time.After(time.Minute):
			require.FailNow(t, "the run was not woken for the end of its step")
		}
	}
}

// Redis has forgotten the script that claims messages, but not the one that reads a log, so the log is read before the
// message is claimed: it is not used as the preload, because a wake-up that was absorbed in between may be about a
// later event. The log is read again.
func TestALogThatWasReadBeforeTheClaimIsNoPreload(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t) // of its own: no other test loads its scripts
	client := redistest.Client(t, server.Addr)
	url, wakeUps := newWakenApp(t)
	var mu sync.Mutex
	reads, direct := 0, false
	way := newCutter(t, server.Addr, 1, func(text string) {
		mu.Lock()
		defer mu.Unlock()
		n := strings.Count(text, "$1\r\n2\r\n$46\r\nworkflow:run:{") // a script with two keys, the first of which is a run
		reads += n
		direct = direct || n > 0 && strings.Contains(text, "flows}:pending")
	})
	base, _, stop := startService(t, "WORKFLOW_REDIS_URL=redis://"+way.Addr())
	t.Cleanup(func() { require.NoError(t, stop()) })
	w := &wide{t: t, base: base}
	post(t, base+"/v1/apps", fmt.Sprintf(`{"baseUrl":%q,"deploymentId":"dpl_1","sdk":"v4","attach":["run_started"]}`, url))
	id := w.newRun([]byte("input"))
	w.accepted(id, "run_started", "", nil)
	wake := func() delivered {
		post(t, base+"/v1/queue", fmt.Sprintf(`{"queueName":"__wkf_workflow_wf","message":{"runId":%q},"deploymentId":"dpl_1"}`, id))
		return <-wakeUps
	}
	require.NotEmpty(t, wake().preloaded)
	store, err := storage.New(t.Context(), client, storage.Config{})
	require.NoError(t, err)
	for i := 0; ; i++ {
		require.Less(t, i, 30, "no wake-up was taken along with its message while the script was forgotten")
		require.NoError(t, client.ScriptFlush(t.Context()).Err())
		_, _, _, err := store.ReadStart(t.Context(), id, 1, 1) // Redis knows this script again
		require.NoError(t, err)
		mu.Lock()
		reads, direct = 0, false
		mu.Unlock()
		require.NotEmpty(t, wake().preloaded)
		mu.Lock()
		again, done := reads, direct
		mu.Unlock()
		if done {
			require.Equal(t, 2, again, "along with the take, and anew")
			return
		}
	}
}

// If an event is refused before it is sent, its message is not queued, and the error does not blame Redis.
func TestNothingIsQueuedBehindAnEventThatCannotBeRead(t *testing.T) {
	t.Parallel()
	r, environ := redisOf(t)
	base, _, stop := startService(t, environ...)
	t.Cleanup(func() { require.NoError(t, stop()) })
	w := &wide{t: t, base: base}
	runID := w.newRun([]byte("input"))
	got := w.callAndThen(runID, m{"event": m{"eventType": "step_completed", "specVersion": 3}})
	require.Equal(t, http.StatusBadRequest, got.Status)
	require.Equal(t, http.StatusFailedDependency, got.Then.Status)
	keys, err := r.Client.Keys(t.Context(), "asynq:{"+strings.TrimSuffix(r.Prefix, ":")+"_flows}:t:*").Result()
	require.NoError(t, err)
	require.Empty(t, keys)
	_, metrics := get(t, base+"/metrics")
	require.NotContains(t, metrics, `status="503"`)
	require.Contains(t, metrics, `route="/v1/queue",status="409"`)
}
