package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis/internal/redistest"
)

// putChunk writes one chunk and repeats the call as long as needed, always with the same request id.
func putChunk(ctx context.Context, base, path, chunk string) error {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for {
		write, err := http.NewRequestWithContext(ctx, http.MethodPost, base+path, strings.NewReader(chunk))
		if err != nil {
			return err
		}
		write.Header.Set("Content-Type", "application/octet-stream")
		write.Header.Set("Idempotency-Key", path+" "+chunk[:min(len(chunk), 20)])
		if res, err := client.Do(write); err == nil {
			_ = res.Body.Close()
			if res.StatusCode == http.StatusOK {
				return nil
			}
			if res.StatusCode != http.StatusServiceUnavailable {
				return fmt.Errorf("chunk %s: %s", chunk, res.Status)
			}
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		<-time.After(5 * time.Millisecond) // what a client does before it tries again
	}
}

// steadily writes a chunk every tenth of a second, numbered from 0, until ctx ends, and returns when each was stored.
func steadily(ctx context.Context, t *testing.T, base, path string) []time.Time {
	var stored []time.Time
	for ctx.Err() == nil {
		if err := putChunk(context.WithoutCancel(ctx), base, path, fmt.Sprint(len(stored))); err != nil {
			t.Errorf("write: %v", err)
			return stored
		}
		stored = append(stored, time.Now())
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
		}
	}
	return stored
}

// BR-41: while one replica writes, the other one's subscription is killed every two seconds, Redis restarts, and the
// reader's whole process is paused for 70 seconds with hundreds of doorbells waiting. The reader gets every chunk once,
// in order, soon after each interruption, and ends on close.
func notificationsAreLost(t *testing.T) {
	server := redistest.Start(t, "--appendonly", "yes", "--appendfsync", "always")
	client := redistest.Client(t, server.Addr)
	environ := []string{"WORKFLOW_REDIS_URL=redis://" + server.Addr}
	writing, reading := startProcess(t, environ...), startProcess(t, environ...)
	const path = "/v1/runs/wrun_1/streams/st"
	follower := follow(t, reading.base, "st", 0)
	ctx, stop := context.WithCancel(t.Context())
	var stored []time.Time
	var writer sync.WaitGroup
	writer.Go(func() { stored = steadily(ctx, t, writing.base, path) })
	killed := int64(0)
	for range 4 {
		<-time.After(2 * time.Second)
		killed += client.ClientKillByFilter(ctx, "TYPE", "pubsub").Val()
	}
	require.GreaterOrEqual(t, killed, int64(4))
	<-time.After(2 * time.Second)
	require.NoError(t, server.Stop())
	require.NoError(t, server.Restart())
	follower.has(t, follower.count()+10)
	require.NoError(t, reading.cmd.Process.Signal(syscall.SIGSTOP))
	stopped, before := time.Now(), follower.count()
	<-time.After(70 * time.Second)
	require.NoError(t, reading.cmd.Process.Signal(syscall.SIGCONT))
	resumed := time.Now()
	follower.has(t, before+500)
	<-time.After(time.Second)
	stop()
	writer.Wait()
	post(t, writing.base+path+"/close", "{}")
	require.Equal(t, numbers(len(stored)), follower.all(t))
	require.Zero(t, follower.cuts)

	const most = 4 * time.Second // two are promised; the rest is for a machine that is busy with other tests
	worst := time.Duration(0)
	for i, at := range follower.at {
		since := stored[i]
		if since.After(stopped.Add(-time.Second)) && since.Before(resumed) {
			since = resumed
		}
		worst = max(worst, at.Sub(since))
	}
	t.Logf("%d chunks, the latest %s after it was stored", len(stored), worst)
	require.Less(t, worst, most)
}

// BR-46: a read goes through a proxy that cuts silent connections, and over a restart of the service behind it.
// Keep-alives keep it open and are not chunks; the restart is never a clean end, and the resumed read continues where
// it stopped.
func quietReadsAreCut(t *testing.T) {
	_, environ := redisOf(t)
	first, second := startProcess(t, environ...), startProcess(t, environ...)
	const path = "/v1/runs/wrun_1/streams/st"
	const patience = 18 * time.Second // the service breaks a silence after 15
	idle := newIdleProxy(t, strings.TrimPrefix(first.base, "http://"), patience)
	follower := follow(t, "http://"+idle.Addr(), "st", 1000)
	strict := follow(t, first.base, "st", 0)
	for i := range 5 {
		require.NoError(t, putChunk(t.Context(), first.base, path, fmt.Sprint(i)))
	}
	follower.has(t, 5)
	strict.has(t, 5)
	<-time.After(2*patience + time.Second)
	require.Zero(t, idle.cuts.Load(), "the read was silent")
	follower.mu.Lock()
	require.GreaterOrEqual(t, follower.beats, 2)
	require.Zero(t, follower.cuts)
	follower.mu.Unlock()

	require.NoError(t, first.cmd.Process.Signal(syscall.SIGTERM))
	require.Error(t, <-strict.ended, "a service that stops is not the end of the stream")
	idle.SetTarget(strings.TrimPrefix(second.base, "http://"))
	for i := 5; i < 10; i++ {
		require.NoError(t, putChunk(t.Context(), second.base, path, fmt.Sprint(i)))
	}
	post(t, second.base+path+"/close", "{}")
	require.Equal(t, numbers(10), follower.all(t))
	require.Positive(t, follower.cuts)
	require.Equal(t, numbers(5), strict.chunks)
	// In a raw body every byte belongs to a chunk.
	status, body := get(t, second.base+"/v1/streams/st")
	require.Equal(t, []any{http.StatusOK, "0123456789"}, []any{status, body})
}

// BR-48: a late writer gets the same error with the same name each time; closing again is harmless; another run may
// write to a stream, and its end does not end the stream, but the owner's end does, until there is another write.
func TestBR48LateAndForeignWrites(t *testing.T) {
	t.Parallel()
	_, environ := redisOf(t)
	base, _, stop := startService(t, append(environ, "WORKFLOW_WORLD_STREAM_QUIET="+streamQuiet.String())...)
	owner, other := newRun(t, base, ""), newRun(t, base, "")
	put := func(runID, stream, requestID, chunk string) (int, string) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base+"/v1/runs/"+runID+"/streams/"+stream, strings.NewReader(chunk))
		require.NoError(t, err)
		req.Header.Set("Content-Type", "application/octet-stream")
		req.Header.Set("Idempotency-Key", requestID)
		res, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
		require.NoError(t, err)
		text, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		return res.StatusCode, string(text)
	}
	refused := func(runID, stream, requestID string) {
		t.Helper()
		status, text := put(runID, stream, requestID, "late")
		require.Equal(t, http.StatusConflict, status)
		require.Contains(t, text, `"code":"stream_closed"`)
	}
	accepted := func(index int, runID, stream, requestID string) {
		t.Helper()
		status, text := put(runID, stream, requestID, requestID)
		require.Equal(t, http.StatusOK, status, text)
		require.JSONEq(t, fmt.Sprintf(`{"index":%d}`, index), text)
	}
	info := func(stream string) string {
		_, text := get(t, base+"/v1/streams/"+stream+"/info")
		return strings.TrimSpace(text)
	}

	accepted(0, owner, "closed", "a")
	for range 2 {
		post(t, base+"/v1/runs/"+owner+"/streams/closed/close", "{}")
	}
	refused(owner, "closed", "b")
	refused(other, "closed", "c")
	accepted(0, owner, "closed", "a") // its answer was lost
	require.JSONEq(t, `{"tailIndex":0,"done":true}`, info("closed"))

	live := "strm_" + strings.TrimPrefix(owner, "wrun_") + "_user"
	own := "strm_" + strings.TrimPrefix(other, "wrun_") + "_user"
	accepted(0, owner, live, "d")
	accepted(1, other, live, "e")
	accepted(0, other, own, "f")
	for _, runID := range []string{owner, other} {
		_, list := get(t, base+"/v1/runs/"+runID+"/streams")
		require.Contains(t, list, live)
	}
	post(t, base+"/v1/runs/"+other+"/events", `{"event":{"eventType":"run_cancelled"}}`)
	ended := func(stream string) func() bool {
		return func() bool { return strings.Contains(info(stream), `"done":true`) }
	}
	require.Eventually(t, ended(own), time.Minute, 50*time.Millisecond)
	require.JSONEq(t, `{"tailIndex":1,"done":false}`, info(live))
	accepted(2, other, live, "g") // ended as it is, it may still write to a stream that lives
	accepted(1, other, own, "h")  // and so to its own, which nobody has closed
	post(t, base+"/v1/runs/"+owner+"/events", `{"event":{"eventType":"run_cancelled"}}`)
	require.Eventually(t, ended(live), time.Minute, 50*time.Millisecond)
	accepted(3, owner, live, "i")
	accepted(4, other, live, "j")
	require.JSONEq(t, `{"tailIndex":4,"done":false}`, info(live))
	status, body := get(t, base+"/v1/streams/"+live)
	require.Equal(t, []any{http.StatusOK, "degij"}, []any{status, body})
	require.NoError(t, stop())
}

// BR-51: a proxy that compresses, and buffers for it, is in front of the service. Each chunk reaches the reader before
// the next one is written.
func TestBR51EachChunkArrivesAtOnce(t *testing.T) {
	t.Parallel()
	_, environ := redisOf(t)
	base, _, stop := startService(t, environ...)
	target, err := url.Parse(base)
	require.NoError(t, err)
	through := httptest.NewServer(&compressor{httputil.NewSingleHostReverseProxy(target)})
	t.Cleanup(through.Close)
	const path = "/v1/runs/wrun_1/streams/st"
	follower := follow(t, through.URL, "st", 0)
	const count = 300
	for i := range count {
		require.NoError(t, putChunk(t.Context(), base, path, fmt.Sprint(i)))
		follower.has(t, i+1)
	}
	post(t, base+path+"/close", "{}")
	require.Equal(t, numbers(count), follower.all(t))
	require.NoError(t, stop())
}

// BR-45: runs complete, fail or are cancelled without closing their streams. Readers from before and after get every
// chunk and the end; the stream is listed as done for its run.
func TestBR45StreamsEndWithTheirRuns(t *testing.T) {
	t.Parallel()
	_, environ := redisOf(t)
	base, _, stop := startService(t, append(environ, "WORKFLOW_WORLD_STREAM_QUIET=500ms")...)
	for _, end := range []string{
		`{"eventType":"run_completed","eventData":{"output":1}}`,
		`{"eventType":"run_failed","eventData":{"error":"it broke"}}`,
		`{"eventType":"run_cancelled"}`,
	} {
		runID := newRun(t, base, "")
		name := "strm_" + strings.TrimPrefix(runID, "wrun_") + "_user"
		before := follow(t, base, name, 0)
		for i := range 3 {
			require.NoError(t, putChunk(t.Context(), base, "/v1/runs/"+runID+"/streams/"+name, fmt.Sprint(i)))
		}
		before.has(t, 3)
		post(t, base+"/v1/runs/"+runID+"/events", `{"event":{"eventType":"run_started"}}`)
		post(t, base+"/v1/runs/"+runID+"/events", `{"event":`+end+`}`)
		require.Equal(t, numbers(3), before.all(t))
		require.Equal(t, numbers(3), follow(t, base, name, 0).all(t))
		_, info := get(t, base+"/v1/streams/"+name+"/info")
		require.JSONEq(t, `{"tailIndex":2,"done":true}`, info)
		_, list := get(t, base+"/v1/runs/"+runID+"/streams")
		require.JSONEq(t, `{"data":["`+name+`"]}`, list)
	}
	require.NoError(t, stop())
}
