package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// leavingApp is an app with long steps. A step whose delivery is cut continues for a while and then stops.
type leavingApp struct {
	*httptest.Server
	short chan struct{} // ends the steps of runs that begin with wrun_short

	mu    sync.Mutex
	stays map[string][]stay // by run
}

// lingering is how long a step continues in the app after its delivery was cut.
const lingering = 200 * time.Millisecond

func newLeavingApp(t *testing.T) *leavingApp {
	t.Helper()
	a := &leavingApp{short: make(chan struct{}), stays: map[string][]stay{}}
	a.Server = httptest.NewServer(healthy(a.handle))
	t.Cleanup(a.Close)
	return a
}

func (a *leavingApp) handle(w http.ResponseWriter, r *http.Request) {
	attempt, _ := strconv.Atoi(r.Header.Get("X-Vqs-Message-Attempt"))
	body, _ := io.ReadAll(r.Body)
	runID := string(regexp.MustCompile(`wrun_(short|long|new)_\d`).Find(body))
	a.mu.Lock()
	at := len(a.stays[runID])
	a.stays[runID] = append(a.stays[runID], stay{attempt: attempt, begin: time.Now()})
	a.mu.Unlock()
	switch {
	case at > 0 || runID[:6] == "wrun_n":
	case runID[:6] == "wrun_s":
		<-a.short
	default: // a step of a minute
		select {
		case <-r.Context().Done():
			<-time.After(lingering)
		case <-time.After(time.Minute):
		}
	}
	a.mu.Lock()
	a.stays[runID][at].end = time.Now()
	a.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write([]byte(`{"ok":true}`))
}

func (a *leavingApp) of(runID string) []stay {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]stay(nil), a.stays[runID]...)
}

func (a *leavingApp) begun() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	n := 0
	for _, stays := range a.stays {
		n += len(stays)
	}
	return n
}

// The service is stopped while steps of a minute run and fifty readers wait at a silent stream. It claims no more
// messages immediately. A delivery that ends within the grace period counts. After it the others are cut and their
// messages put back, and the next replica delivers them again, but not before the app has noticed; none is a first
// attempt. The readers get no end of their stream, and a read from the next index continues.
func serviceStopsDuringLongSteps(t *testing.T) {
	const kinds, readers = 5, 50
	a := newLeavingApp(t)
	r, environ := redisOf(t)
	environ = append(environ, "WORKFLOW_BASE_URL="+a.URL, "WORKFLOW_WORLD_SHUTDOWN_GRACE=8s")
	stopping := startProcess(t, environ...)
	enqueue := func(name string, i int) {
		post(t, stopping.base+"/v1/queue", fmt.Sprintf(`{"queueName":"__wkf_step_s","message":{"workflowRunId":"wrun_%s_%d","stepId":"step_1"}}`, name, i))
	}
	for i := range kinds {
		enqueue("short", i)
		enqueue("long", i)
	}
	stream := "/v1/runs/" + newRun(t, stopping.base, "") + "/streams/strm_quiet"
	require.Equal(t, http.StatusOK, writeChunk(t, stopping.base+stream, "one"))
	ends := make(chan error, readers)
	var opened sync.WaitGroup
	for range readers {
		opened.Add(1)
		go func() { ends <- readFrames(stopping.base+stream, "\x00\x00\x00\x03one", opened.Done) }()
	}
	opened.Wait()
	require.Eventually(t, func() bool { return a.begun() == 2*kinds }, time.Minute, 5*time.Millisecond)

	require.NoError(t, stopping.cmd.Process.Signal(syscall.SIGTERM))
	require.Eventually(t, func() bool { code, _ := get(t, stopping.base+"/readyz"); return code == http.StatusServiceUnavailable }, time.Minute, time.Millisecond)
	for i := range kinds {
		enqueue("new", i) // its API still works, for the steps that run
	}
	<-time.After(2 * time.Second)
	require.Equal(t, 2*kinds, a.begun(), "it takes nothing any more")
	close(a.short)
	require.NoError(t, stopping.cmd.Wait(), "it stops with 0")
	cut := time.Now()
	require.Equal(t, 2*kinds, a.begun())
	for range readers {
		require.NoError(t, <-ends)
	}

	next := startProcess(t, environ...)
	require.Eventually(t, allDone(t, next.base, 3*kinds), time.Minute, 20*time.Millisecond)
	for i := range kinds {
		short, long, late := a.of(fmt.Sprintf("wrun_short_%d", i)), a.of(fmt.Sprintf("wrun_long_%d", i)), a.of(fmt.Sprintf("wrun_new_%d", i))
		require.Len(t, short, 1, "it ended in time")
		require.Len(t, late, 1)
		require.Equal(t, 1, late[0].attempt)
		require.Len(t, long, 2)
		require.Equal(t, []int{1, 2}, []int{long[0].attempt, long[1].attempt})
		require.True(t, long[0].end.Before(cut.Add(time.Second)))
		require.True(t, long[1].begin.After(long[0].end), "they overlap")
	}
	require.Empty(t, leftOfMessages(t, r.Client, r.Prefix))

	again := make(chan error, 1)
	opened.Add(1)
	go func() {
		again <- readFrames(next.base+stream+"?startIndex=1", "\x00\x00\x00\x03two\xff\xff\xff\xff", opened.Done)
	}()
	opened.Wait()
	require.Equal(t, http.StatusOK, writeChunk(t, next.base+stream, "two"))
	post(t, next.base+stream+"/close", `{}`)
	require.NoError(t, <-again)
}

// readFrames reads a stream to the end of the body, without keep-alives, and reports deviations: without an end frame
// the body must be incomplete.
func readFrames(url, want string, opened func()) error {
	req, err := http.NewRequest(http.MethodGet, url, nil) //nolint:noctx // ends with its service
	if err != nil {
		return err
	}
	req.Header.Set("Accept", "application/vnd.world-redis.chunks")
	res, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	opened()
	if err != nil {
		return err
	}
	defer res.Body.Close() //nolint:errcheck // read to its end
	body, err := io.ReadAll(res.Body)
	got := string(bytes.ReplaceAll(body, []byte("\xff\xff\xff\xfe"), nil))
	ended := want[len(want)-1] == '\xff'
	if got != want || ended != (err == nil) {
		return fmt.Errorf("%q, %w", got, err)
	}
	return nil
}
