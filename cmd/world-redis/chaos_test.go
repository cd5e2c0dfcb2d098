package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const manyDeliveries = 20

// slowApp answers a message's first delivery when it is released, and the others immediately.
type slowApp struct {
	*httptest.Server
	letGo chan struct{}

	mu       sync.Mutex
	attempts map[string][]int // by message id, in the order of arrival
}

func newSlowApp(t *testing.T) *slowApp {
	t.Helper()
	a := &slowApp{letGo: make(chan struct{}), attempts: map[string][]int{}}
	a.Server = httptest.NewServer(healthy(a.handle))
	t.Cleanup(a.Close)
	t.Cleanup(a.release)
	return a
}

func (a *slowApp) release() {
	select {
	case <-a.letGo:
	default:
		close(a.letGo)
	}
}

func (a *slowApp) handle(w http.ResponseWriter, r *http.Request) {
	id := r.Header.Get("X-Vqs-Message-Id")
	attempt, _ := strconv.Atoi(r.Header.Get("X-Vqs-Message-Attempt"))
	a.mu.Lock()
	a.attempts[id] = append(a.attempts[id], attempt)
	first := len(a.attempts[id]) == 1
	a.mu.Unlock()
	if first {
		<-a.letGo
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write([]byte(`{"ok":true}`))
}

// arrived reports whether every message was delivered n times.
func (a *slowApp) arrived(times int) func() bool {
	return func() bool {
		a.mu.Lock()
		defer a.mu.Unlock()
		for _, attempts := range a.attempts {
			if len(attempts) < times {
				return false
			}
		}
		return len(a.attempts) == manyDeliveries
	}
}

// busyReplica starts a replica with many deliveries in progress and then a second one.
func busyReplica(t *testing.T, a *slowApp) (busy, second *process) {
	t.Helper()
	_, environ := redisOf(t)
	environ = append(environ, "WORKFLOW_BASE_URL="+a.URL)
	busy = startProcess(t, environ...)
	for i := range manyDeliveries {
		post(t, busy.base+"/v1/queue", fmt.Sprintf(`{"queueName":"__wkf_step_s","message":{"workflowRunId":"wrun_%d","stepId":"step_1"}}`, i))
	}
	require.Eventually(t, a.arrived(1), time.Minute, 5*time.Millisecond)
	return busy, startProcess(t, environ...)
}

// allDone reports whether n step messages are done and none is left.
func allDone(t *testing.T, base string, count int) func() bool {
	return func() bool {
		_, text := get(t, base+"/v1/queue")
		var answer struct {
			Data []struct {
				Queue                                              string
				Pending, Active, Scheduled, Retry, Dead, Completed int
			}
		}
		require.NoError(t, json.Unmarshal([]byte(text), &answer))
		require.Len(t, answer.Data, 2)
		q := answer.Data[1]
		require.Equal(t, "steps", q.Queue)
		return q.Pending+q.Active+q.Scheduled+q.Retry+q.Dead == 0 && q.Completed == count
	}
}

// checkTwice asserts that each message was delivered twice, the second time not as a first attempt.
func (a *slowApp) checkTwice(t *testing.T) {
	t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	for id, attempts := range a.attempts {
		require.Equal(t, []int{1, 2}, attempts, id)
	}
}

// BR-29: a replica is killed during twenty deliveries. The other one repeats all of them, once each, with nothing
// charged.
func TestBR29ReplicaIsKilled(t *testing.T) {
	t.Parallel()
	a := newSlowApp(t)
	busy, second := busyReplica(t, a)
	busy.kill()
	begin := time.Now()
	require.Eventually(t, a.arrived(2), time.Minute, 5*time.Millisecond)
	t.Logf("all are made again %s after the kill", time.Since(begin))
	a.checkTwice(t)
	require.Eventually(t, allDone(t, second.base, manyDeliveries), time.Minute, 20*time.Millisecond)
}

// A replica is paused for a minute during twenty deliveries, while the other one repeats them, and then continues: its
// late answers change nothing, there is no third delivery, each run ends once, and nothing is left.
func replicaStandsStill(t *testing.T) {
	a := newEndingApp(t, manyDeliveries)
	r, environ := redisOf(t)
	environ = append(environ, "WORKFLOW_BASE_URL="+a.URL)
	busy := startProcess(t, environ...)
	var runs []string
	for range manyDeliveries {
		runs = append(runs, enqueueRun(t, busy.base, 0))
	}
	require.Eventually(t, func() bool { return a.begun() == manyDeliveries }, time.Minute, 5*time.Millisecond)
	second := startProcess(t, environ...)
	a.service = func() string { return second.base }
	require.NoError(t, busy.cmd.Process.Signal(syscall.SIGSTOP))
	begin := time.Now()
	require.Eventually(t, func() bool { return a.begun() == 2*manyDeliveries }, time.Minute, 5*time.Millisecond)
	t.Logf("all are made again %s after the stop", time.Since(begin).Round(time.Millisecond))
	letGo(a.early) // answered, but the answer is not received
	<-time.After(time.Until(begin.Add(time.Minute)))
	require.NoError(t, busy.cmd.Process.Signal(syscall.SIGCONT))
	letGo(a.late) // answered to one who has lost it
	requireAllEnded(t, busy.base, r.Client, r.Prefix, runs)
	// Another run, delivered after all that, shows that both have written their outcomes.
	last := enqueueRun(t, busy.base, 0)
	requireAllEnded(t, second.base, r.Client, r.Prefix, append(runs, last))
	a.requireDelivered(t, runs, 1, 2)
	a.requireDelivered(t, []string{last}, 1)
}

// Two replicas start beside one whose deliveries take longer than a lease, and stop again: the busy one keeps its
// messages, which are delivered once.
func replicasComeAndGo(t *testing.T) {
	a := newEndingApp(t, manyDeliveries)
	r, environ := redisOf(t)
	environ = append(environ, "WORKFLOW_BASE_URL="+a.URL)
	busy := startProcess(t, environ...)
	a.service = func() string { return busy.base }
	var runs []string
	for range manyDeliveries {
		runs = append(runs, enqueueRun(t, busy.base, 0))
	}
	require.Eventually(t, func() bool { return a.begun() == manyDeliveries }, time.Minute, 5*time.Millisecond)
	for range 2 {
		other := startProcess(t, environ...)
		<-time.After(8 * time.Second)
		require.NoError(t, other.cmd.Process.Signal(syscall.SIGTERM))
		require.NoError(t, other.cmd.Wait())
	}
	letGo(a.early)
	letGo(a.late)
	requireAllEnded(t, busy.base, r.Client, r.Prefix, runs)
	a.requireDelivered(t, runs, 1)
}
