package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis/internal/redistest"
)

// streamQuiet is short for the tests that wait for it, and longer than a busy machine suspends a process.
const streamQuiet = 4 * time.Second

// twoReplicas starts two services on one Redis.
func twoReplicas(t *testing.T, environ ...string) (bases [2]string) {
	t.Helper()
	r := redistest.New(t)
	environ = append(environ, "WORKFLOW_REDIS_URL="+r.URL(), "WORKFLOW_REDIS_KEY_PREFIX="+r.Prefix, "WORKFLOW_REDIS_JOB_PREFIX="+strings.ReplaceAll(r.Prefix, ":", "_"))
	for i := range bases {
		base, _, stop := startService(t, environ...)
		t.Cleanup(func() { require.NoError(t, stop()) })
		bases[i] = base
	}
	return bases
}

// endedRunWith returns a run that has ended, and the path of its default stream.
func endedRunWith(t *testing.T, base string) (path, name string) {
	t.Helper()
	runID := newRun(t, base, "")
	post(t, base+"/v1/runs/"+runID+"/events", `{"event":{"eventType":"run_cancelled"}}`)
	name = "strm_" + strings.TrimPrefix(runID, "wrun_") + "_user"
	return "/v1/runs/" + runID + "/streams/" + name, name
}

// The writer of a stream outlives its run, with pauses: every chunk is stored, and an earlier reader at another replica
// gets them all and then the end that the writer records.
func TestAStreamThatOutlivesItsRun(t *testing.T) {
	t.Parallel()
	bases := twoReplicas(t)
	path, name := endedRunWith(t, bases[0])
	reader := follow(t, bases[1], name, 0)
	for i := range 3 {
		require.Equal(t, http.StatusOK, writeChunk(t, bases[0]+path, fmt.Sprint(i)))
		<-time.After(1200 * time.Millisecond) // a slow writer
		status, _ := get(t, bases[1]+"/v1/streams/"+name+"/info")
		require.Equal(t, http.StatusOK, status)
	}
	post(t, bases[0]+path+"/close", "{}")
	require.Equal(t, numbers(3), reader.all(t))
}

// One chunk takes longer to arrive than the stream may be quiet: no reader gets an end meanwhile, at either replica.
func TestASlowUploadHoldsTheStreamOpen(t *testing.T) {
	t.Parallel()
	bases := twoReplicas(t, "WORKFLOW_WORLD_STREAM_QUIET="+streamQuiet.String())
	path, name := endedRunWith(t, bases[0])
	readers := []*follower{follow(t, bases[0], name, 0), follow(t, bases[1], name, 0)}
	body, upload := io.Pipe()
	answered := make(chan int, 1)
	go func() {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, bases[0]+path, body)
		if err != nil {
			t.Error(err)
			return
		}
		req.Header.Set("Content-Type", "application/octet-stream")
		res, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
		if err != nil {
			t.Error(err)
			return
		}
		_ = res.Body.Close()
		answered <- res.StatusCode
	}()
	for begun := time.Now(); time.Since(begun) < 2*streamQuiet; {
		_, err := io.WriteString(upload, "0")
		require.NoError(t, err)
		<-time.After(streamQuiet / 10) // a slow line
		for _, base := range bases {
			_, info := get(t, base+"/v1/streams/"+name+"/info")
			if time.Since(begun) > streamQuiet/2 { // until then another replica need not know
				require.JSONEq(t, `{"tailIndex":-1,"done":false}`, info)
			}
		}
	}
	require.NoError(t, upload.Close())
	require.Equal(t, http.StatusOK, <-answered)
	for _, reader := range readers {
		require.Len(t, reader.all(t), 1)
	}
	_, info := get(t, bases[1]+"/v1/streams/"+name+"/info")
	require.JSONEq(t, `{"tailIndex":0,"done":true}`, info)
}

// byStep makes a call to a stream in the name of a step, or of none, and returns the status.
func byStep(t *testing.T, url, body, step string, attempt int) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	require.NoError(t, err)
	req.Header.Set("Content-Type", "application/octet-stream")
	if step != "" {
		req.Header.Set("X-Stream-Step", step)
		req.Header.Set("X-Stream-Attempt", fmt.Sprint(attempt))
	}
	res, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	return res.StatusCode
}

// A failover removes the step that closed the stream from the log. The run executes it under another id, and that
// execution may write; before, only the first one could.
func TestAStreamThatALostStepClosedIsTakenOver(t *testing.T) {
	t.Parallel()
	r := redistest.New(t)
	base, _, stop := startService(t, "WORKFLOW_REDIS_URL="+r.URL(), "WORKFLOW_REDIS_KEY_PREFIX="+r.Prefix, "WORKFLOW_REDIS_JOB_PREFIX="+strings.ReplaceAll(r.Prefix, ":", "_"))
	runID := newRun(t, base, "")
	for _, id := range []string{"step_1", "step_2"} {
		post(t, base+"/v1/runs/"+runID+"/events", event{kind: "step_created", id: id, data: `{"stepName":"s","input":[]}`}.body())
	}
	name := "strm_" + strings.TrimPrefix(runID, "wrun_") + "_user"
	path := base + "/v1/runs/" + runID + "/streams/" + name
	require.Equal(t, http.StatusOK, byStep(t, path, "first", "step_1", 1))
	require.Equal(t, http.StatusOK, byStep(t, path+"/close", "", "step_1", 1))
	require.Equal(t, http.StatusConflict, byStep(t, path, "second", "step_2", 1))

	byID := r.Prefix + "events:by_correlation:{" + runID + "}"
	require.Equal(t, int64(1), r.Client.ZRemRangeByLex(t.Context(), byID, "[step_1/", "(step_10").Val())
	require.Equal(t, int64(1), r.Client.Del(t.Context(), r.Prefix+"step:{"+runID+"}:step_1").Val())
	require.Equal(t, http.StatusOK, byStep(t, path, "second", "step_2", 1))
	require.Equal(t, http.StatusOK, byStep(t, path+"/close", "", "step_2", 1))
	for start, want := range map[string]string{"0": "first", "2": "second"} {
		_, body := get(t, base+"/v1/streams/"+name+"?startIndex="+start)
		require.Equal(t, want, body, start)
	}
	require.NoError(t, stop())
}

// A step writes, closes and runs again, at another replica. Readers get the first attempt's part and then learn where
// the second begins; `stream tail` prints both.
func TestAStepThatClosedItsStreamRunsAgain(t *testing.T) {
	t.Parallel()
	bases := twoReplicas(t)
	runID := newRun(t, bases[0], "")
	name := "strm_" + strings.TrimPrefix(runID, "wrun_") + "_user"
	call := func(base, path, body string, attempt int) int {
		step := ""
		if attempt > 0 {
			step = "step_1"
		}
		return byStep(t, base+"/v1/runs/"+runID+"/streams/"+name+path, body, step, attempt)
	}
	for attempt := 1; attempt <= 2; attempt++ {
		for _, text := range []string{"a", "b", "c"} {
			require.Equal(t, http.StatusOK, call(bases[attempt%2], "", fmt.Sprint(text, attempt, " "), attempt))
		}
		require.Equal(t, http.StatusOK, call(bases[attempt%2], "/close", "", attempt))
		require.Equal(t, http.StatusConflict, call(bases[0], "", "somebody else", 0))
	}
	for start, want := range map[string]string{"0": "a1 b1 c1 ", "1": "b1 c1 ", "3": "", "4": "a2 b2 c2 ", "-1": "c2 "} {
		_, body := get(t, bases[0]+"/v1/streams/"+name+"?startIndex="+start)
		require.Equal(t, want, body, start)
	}
	_, info := get(t, bases[1]+"/v1/streams/"+name+"/info")
	require.JSONEq(t, `{"tailIndex":2,"done":true,"next":4}`, info)
	root := rootCommand()
	var out, errOut bytes.Buffer
	root.SetOut(&out)
	root.SetErr(&errOut)
	root.SetArgs([]string{"stream", "tail", runID, "--raw", "--url", bases[1]})
	require.NoError(t, root.ExecuteContext(t.Context()))
	require.Equal(t, "a1 b1 c1 a2 b2 c2 ", out.String())
	require.Equal(t, 1, strings.Count(errOut.String(), "\n"), errOut.String())
}

// A run that does not exist is reported immediately, by the API and by every command that has a run as its argument.
// Messages in the queue for such a run are shown.
func TestNoSuchRun(t *testing.T) {
	t.Parallel()
	base, _, stop := startService(t)
	const old, stream = "wrun_01ARZ3NDEKTSV4RRFFQ69G5FAV", "strm_01ARZ3NDEKTSV4RRFFQ69G5FAV_user"
	for _, path := range []string{
		"/v1/runs/" + old + "/streams", "/v1/streams/" + stream, "/v1/streams/" + stream + "?startIndex=-1", "/v1/runs/" + old + "/streams/" + stream,
		"/v1/streams/" + stream + "/info", "/v1/streams/" + stream + "/chunks", "/v1/runs/" + old + "/messages", "/v1/queue/messages?runId=" + old,
	} {
		status, body := get(t, base+path)
		require.Equal(t, http.StatusNotFound, status, path)
		require.Contains(t, body, `"code":"run_not_found"`, path)
	}
	for _, args := range [][]string{
		{"stream", "tail", old},
		{"stream", "tail", old, "logs"},
		{"stream", "tail", old, "strm_other"},
		{"queue", "ls", "--run", old},
		{"queue", "ls", "--run", old, "--state", "dead"},
		{"queue", "redrive", "--run", old},
	} {
		_, err := ask(t, append(args, "--url", base)...)
		require.EqualError(t, err, "no such run: "+old, args)
		require.Equal(t, 1, exitCode(err))
	}
	young := newRun(t, base, "")
	young = young[:len(young)-4] + "0000" // as old, and unknown
	for _, path := range []string{"/v1/runs/" + young + "/streams", "/v1/runs/" + young + "/messages", "/v1/streams/__health_check__x/info"} {
		status, body := get(t, base+path)
		require.Equal(t, http.StatusOK, status, body)
	}
	require.Equal(t, http.StatusOK, writeChunk(t, base+"/v1/runs/"+old+"/streams/"+stream, "a write comes in all the same"))
	postJSON(t, base+"/v1/queue", `{"queueName":"__wkf_workflow_x","message":{"runId":"`+old+`"},"deploymentId":"dpl_7"}`)
	out, err := ask(t, "queue", "ls", "--run", old, "--url", base)
	require.NoError(t, err)
	require.Contains(t, out, old)
	require.NoError(t, stop())
}
