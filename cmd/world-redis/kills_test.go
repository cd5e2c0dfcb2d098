package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// minuteApp has one step, of a minute. Like the client it continues once it has begun, whatever happens to the
// delivery, and passes its result to every delivery that waits for it.
type minuteApp struct {
	*httptest.Server
	service func() string // where it reports to
	done    chan struct{} // closed when the step has ended
	failed  error         // of its report; to be read after done

	mu       sync.Mutex
	attempts []int
}

func newMinuteApp(t *testing.T) *minuteApp {
	t.Helper()
	a := &minuteApp{done: make(chan struct{})}
	a.Server = httptest.NewServer(healthy(a.handle))
	t.Cleanup(a.Close)
	return a
}

func (a *minuteApp) handle(w http.ResponseWriter, r *http.Request) {
	attempt, _ := strconv.Atoi(r.Header.Get("X-Vqs-Message-Attempt"))
	body, _ := io.ReadAll(r.Body)
	runID := string(regexp.MustCompile(`wrun_\w{26}`).Find(body))
	a.mu.Lock()
	a.attempts = append(a.attempts, attempt)
	first := len(a.attempts) == 1
	a.mu.Unlock()
	if first {
		time.AfterFunc(time.Minute, func() {
			defer close(a.done)
			for _, e := range []event{{kind: "run_started"}, {kind: "run_completed", data: `{"output":"out"}`}} {
				if a.failed == nil {
					_, a.failed = newPatient(a.service).send("/v1/runs/"+runID+"/events", e.kind+" "+runID, e.body())
				}
			}
		})
	}
	select {
	case <-a.done:
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"ok":true}`))
	case <-r.Context().Done():
	}
}

func (a *minuteApp) came() []int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]int(nil), a.attempts...)
}

// The service is killed ten times during one step of a minute. Nothing of that is charged: the run completes, and no
// delivery has an attempt number above two.
func serviceIsKilledTenTimes(t *testing.T) {
	const kills = 10
	a := newMinuteApp(t)
	r, environ := redisOf(t)
	environ = append(environ, "WORKFLOW_BASE_URL="+a.URL)
	service := startProcess(t, environ...)
	var mu sync.Mutex
	a.service = func() string {
		mu.Lock()
		defer mu.Unlock()
		return service.base
	}
	runID := enqueueRun(t, service.base, 0)
	require.Eventually(t, func() bool { return len(a.came()) == 1 }, time.Minute, 5*time.Millisecond)
	begin := time.Now()
	for i := range kills {
		<-time.After(time.Until(begin.Add(time.Duration(i+1) * time.Minute / (kills + 1))))
		service.kill()
		next := startProcess(t, environ...)
		mu.Lock()
		service = next
		mu.Unlock()
	}
	select {
	case <-a.done:
	case <-time.After(time.Minute):
		require.Fail(t, "the step does not end")
	}
	require.NoError(t, a.failed)
	requireAllEnded(t, service.base, r.Client, r.Prefix, []string{runID})
	t.Logf("%d kills, deliveries %v", kills, a.came())
	require.Greater(t, len(a.came()), 1)
	for i, attempt := range a.came() {
		require.Equal(t, min(i+1, 2), attempt, "delivery %d", i+1)
	}
}

// One replica delivers a message with a key for twenty seconds; meanwhile the key is enqueued again, at another replica
// and at the same one. It is the same message, and there is no other delivery. Once that has ended, the key gives a new
// message, which is delivered once.
func keyComesAgainAtAnotherReplica(t *testing.T) {
	a := newSlowApp(t)
	r, environ := redisOf(t)
	environ = append(environ, "WORKFLOW_BASE_URL="+a.URL)
	replicas := []*process{startProcess(t, environ...), startProcess(t, environ...)}
	enqueue := func(at *process) string {
		answer := post(t, at.base+"/v1/queue", `{"queueName":"__wkf_step_s","message":{"workflowRunId":"wrun_1","stepId":"step_1"},"idempotencyKey":"step_1"}`)
		return fmt.Sprint(answer["messageId"])
	}
	deliveries := func(id string) int {
		a.mu.Lock()
		defer a.mu.Unlock()
		return len(a.attempts[id])
	}
	first := enqueue(replicas[0])
	require.Eventually(t, func() bool { return deliveries(first) == 1 }, time.Minute, 5*time.Millisecond)
	begin := time.Now()
	for i := range 4 {
		<-time.After(time.Until(begin.Add(time.Duration(i+1) * 5 * time.Second)))
		require.Equal(t, first, enqueue(replicas[(i+1)%2]))
		require.Equal(t, 1, deliveries(first))
	}
	a.release()
	require.Eventually(t, allDone(t, replicas[1].base, 1), time.Minute, 5*time.Millisecond)
	second := enqueue(replicas[1])
	require.NotEqual(t, first, second)
	require.Eventually(t, allDone(t, replicas[0].base, 2), time.Minute, 5*time.Millisecond)
	require.Equal(t, []int{1, 1}, []int{deliveries(first), deliveries(second)})
	require.Empty(t, leftOfMessages(t, r.Client, r.Prefix))
}
