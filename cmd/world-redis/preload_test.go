package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// delivered is a wake-up as an app gets it.
type delivered struct {
	message, preloaded []byte
}

// newWakenApp is an app that accepts wake-ups, and gives each the next of the given answers, then ok.
func newWakenApp(t *testing.T, answers ...string) (url string, wakeUps <-chan delivered) {
	t.Helper()
	came := make(chan delivered, 10)
	app := httptest.NewServer(healthy(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the service went away
		}
		length, _ := strconv.Atoi(r.Header.Get("X-World-Redis-Attached")) // none is 0
		select {
		case came <- delivered{body[:len(body)-length], body[len(body)-length:]}:
		case <-r.Context().Done():
			return
		}
		answer := `{"ok":true}`
		if len(answers) > 0 {
			answer, answers = answers[0], answers[1:]
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, answer)
	}))
	t.Cleanup(app.Close)
	return app.URL, came
}

// A wake-up carries the answer that POST run_started would give the app, byte for byte, as of the delivery; a second
// delivery carries the answer as of then. It carries nothing if the call would change or answer anything else, if the
// log is long, or if the log cannot be read: it is then an ordinary delivery.
func TestWakeUpsCarryTheAnswerToRunStarted(t *testing.T) {
	t.Parallel()
	url, wakeUps := newWakenApp(t, `{"timeoutSeconds":0}`)
	r, environ := redisOf(t)
	base, _, stop := startService(t, environ...)
	t.Cleanup(func() { require.NoError(t, stop()) })
	w := &wide{t: t, base: base}
	post(t, base+"/v1/apps", fmt.Sprintf(`{"baseUrl":%q,"deploymentId":"dpl_1","sdk":"v4","attach":["run_started"]}`, url))
	next := func() (d delivered) {
		t.Helper()
		select {
		case d = <-wakeUps:
		case <-time.After(time.Minute):
			require.FailNow(t, "no wake-up")
		}
		return d
	}
	wake := func(runID string) {
		post(t, base+"/v1/queue", fmt.Sprintf(`{"queueName":"__wkf_workflow_wf","message":{"runId":%q},"deploymentId":"dpl_1"}`, runID))
	}
	start := func(runID string) []byte {
		t.Helper()
		status, answer := w.do(http.MethodPost, "/v1/runs/"+runID+"/events", "", []byte(`{"event":{"eventType":"run_started","specVersion":3}}`), "application/json")
		require.Equal(t, http.StatusOK, status)
		return answer
	}
	nothing := func(runID string) {
		t.Helper()
		wake(runID)
		d := next()
		require.Empty(t, d.preloaded)
		require.Contains(t, string(d.message), runID)
	}
	steps := 0
	step := func(runID string) {
		t.Helper()
		steps++
		w.accepted(runID, "step_created", "step_"+strconv.Itoa(steps), m{"stepName": "s", "input": []byte{1}})
	}

	runID := w.newRun([]byte("input"))
	nothing(runID) // it is delivered again, since the app's first answer asks for that
	require.Empty(t, next().preloaded)
	start(runID)
	wake(runID)
	d := next()
	require.Equal(t, start(runID), d.preloaded)
	require.Contains(t, string(d.message), runID)
	step(runID)
	wake(runID)
	again := next().preloaded
	require.Equal(t, start(runID), again)
	require.NotEqual(t, d.preloaded, again)

	for range preloadEvents - 3 { // there are three
		step(runID)
	}
	wake(runID)
	require.Equal(t, start(runID), next().preloaded)
	step(runID)
	nothing(runID)
	w.accepted(runID, "run_cancelled", "", nil)
	nothing(runID)

	big := w.newRun(patterned(preloadBytes / 2)) // it is in the run and in its first event
	start(big)
	nothing(big)

	broken := w.newRun([]byte{1})
	start(broken)
	require.NoError(t, r.Client.HDel(t.Context(), r.Prefix+"event:{"+broken+"}", "1").Err())
	nothing(broken)
}
