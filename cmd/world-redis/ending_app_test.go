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

// endingApp is an app in which every delivery of a message ends the message's run. The first deliveries wait: the even
// ones until early is closed, the odd ones until late is.
type endingApp struct {
	t *testing.T
	*httptest.Server
	service     func() string // where it reports to
	held        int           // how many wait
	early, late chan struct{}

	mu         sync.Mutex
	deliveries map[string][]stay // by run
	arrived    int
}

// stay is one delivery in the app.
type stay struct {
	attempt    int
	begin, end time.Time // end is zero while it lasts
}

func newEndingApp(t *testing.T, held int) *endingApp {
	t.Helper()
	a := &endingApp{t: t, held: held, early: make(chan struct{}), late: make(chan struct{}), deliveries: map[string][]stay{}}
	a.Server = httptest.NewServer(healthy(a.handle))
	t.Cleanup(a.Close)
	t.Cleanup(func() { letGo(a.early); letGo(a.late) })
	return a
}

func letGo(gate chan struct{}) {
	select {
	case <-gate:
	default:
		close(gate)
	}
}

func (a *endingApp) handle(w http.ResponseWriter, r *http.Request) {
	attempt, _ := strconv.Atoi(r.Header.Get("X-Vqs-Message-Attempt"))
	body, err := io.ReadAll(r.Body)
	runID := string(regexp.MustCompile(`wrun_\w{26}`).Find(body)) // in whatever encoding
	a.mu.Lock()
	nth, at := a.arrived, len(a.deliveries[runID])
	a.arrived++
	a.deliveries[runID] = append(a.deliveries[runID], stay{attempt: attempt, begin: time.Now()})
	a.mu.Unlock()
	switch {
	case nth >= a.held:
	case nth%2 == 0:
		<-a.early
	default:
		<-a.late
	}
	for _, e := range []event{{kind: "run_started"}, {kind: "run_completed", data: `{"output":"out"}`}} {
		if err == nil {
			_, err = newPatient(a.service).send("/v1/runs/"+runID+"/events", e.kind+" "+runID, e.body())
		}
	}
	a.mu.Lock()
	a.deliveries[runID][at].end = time.Now()
	a.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	if err != nil {
		a.t.Log(err)
		w.WriteHeader(http.StatusInternalServerError)
		_, _ = fmt.Fprintf(w, "%q", err)
		return
	}
	_, _ = w.Write([]byte(`{"ok":true}`))
}

// begun returns how many deliveries have begun.
func (a *endingApp) begun() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.arrived
}

// firstAfter returns when the first delivery after a given time began.
func (a *endingApp) firstAfter(since time.Time) time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	first := time.Hour
	for _, stays := range a.deliveries {
		for _, s := range stays {
			if s.begin.After(since) {
				first = min(first, s.begin.Sub(since))
			}
		}
	}
	return first
}

// enqueueRun creates a run with a step and the step's message, and returns the run's id.
func enqueueRun(t *testing.T, base string, delaySeconds float64) string {
	t.Helper()
	runID := newRun(t, base, "")
	post(t, base+"/v1/runs/"+runID+"/events", event{kind: "step_created", id: "step_1", data: `{"stepName":"s","input":[]}`}.body())
	post(t, base+"/v1/queue", fmt.Sprintf(`{"queueName":"__wkf_step_s","message":{"workflowRunId":%q,"stepId":"step_1"},"delaySeconds":%v}`, runID, delaySeconds))
	return runID
}

// requireDelivered asserts how often each of the messages was delivered, and the attempt number of each delivery.
func (a *endingApp) requireDelivered(t *testing.T, runs []string, attempts ...int) {
	t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, runID := range runs {
		var got []int
		for _, s := range a.deliveries[runID] {
			got = append(got, s.attempt)
		}
		require.Equal(t, attempts, got, runID)
	}
}
