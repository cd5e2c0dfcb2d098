package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis/internal/redistest"
)

// liveUntil runs lives, several at a time, until ctx ends, and returns the runs. Each life that was started is
// finished.
func liveUntil(ctx context.Context, t *testing.T, base func() string) map[int]string {
	t.Helper()
	var mu sync.Mutex
	runs := map[int]string{}
	var next atomic.Int64
	var workers sync.WaitGroup
	for range 4 {
		workers.Go(func() {
			p := newPatient(base)
			for ctx.Err() == nil {
				n := int(next.Add(1))
				runID, err := p.live(n)
				if err != nil {
					t.Errorf("life %d of %s: %v", n, runID, err)
					return
				}
				mu.Lock()
				runs[n] = runID
				mu.Unlock()
			}
		})
	}
	workers.Wait()
	return runs
}

func redisOf(t *testing.T) (r *redistest.Redis, environ []string) {
	t.Helper()
	r = redistest.New(t)
	return r, []string{
		"WORKFLOW_REDIS_URL=" + r.URL(), "WORKFLOW_REDIS_KEY_PREFIX=" + r.Prefix,
		"WORKFLOW_REDIS_JOB_PREFIX=" + strings.TrimSuffix(r.Prefix, ":") + "_",
	}
}

// BR-03: the service is killed again and again, at any point of any event, while clients repeat unanswered calls. No
// event is lost or duplicated, and every entity matches its events.
func TestBR03ServiceIsKilled(t *testing.T) {
	t.Parallel()
	_, environ := redisOf(t)
	service := startProcess(t, environ...)
	var base atomic.Value
	base.Store(service.base)
	ctx, stop := context.WithCancel(t.Context())
	var runs map[int]string
	var lives sync.WaitGroup
	lives.Go(func() { runs = liveUntil(ctx, t, func() string { return base.Load().(string) }) })
	const kills = 10
	for range kills {
		<-time.After(time.Duration(20+rand.IntN(350)) * time.Millisecond) //nolint:gosec // any time does
		service.kill()
		service = startProcess(t, environ...)
		base.Store(service.base)
	}
	stop()
	lives.Wait()
	require.GreaterOrEqual(t, len(runs), 4)
	t.Logf("%d lives, %d kills", len(runs), kills)
	for n, runID := range runs {
		checkLife(t, service.base, runID, n)
	}
}

// BR-03, BR-06: connections break after any byte, between the service and Redis or between the client and the service,
// for requests and answers.
func TestBR03ConnectionsAreCut(t *testing.T) {
	t.Parallel()
	for name, at := range map[string]func(t *testing.T, r *redistest.Redis, environ []string) (c *cutter, direct, through string){
		"before Redis": func(t *testing.T, r *redistest.Redis, environ []string) (*cutter, string, string) {
			c := newCutter(t, r.Addr, 6_000, nil)
			base, _, stop := startService(t, append(environ, "WORKFLOW_REDIS_URL=redis://"+c.Addr()+"/0")...)
			t.Cleanup(func() { require.NoError(t, stop()) })
			return c, base, base
		},
		"before the service": func(t *testing.T, _ *redistest.Redis, environ []string) (*cutter, string, string) {
			base, _, stop := startService(t, environ...)
			t.Cleanup(func() { require.NoError(t, stop()) })
			c := newCutter(t, strings.TrimPrefix(base, "http://"), 1_500, nil) // a call is about 300 bytes each way
			return c, base, "http://" + c.Addr()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, environ := redisOf(t)
			c, direct, through := at(t, r, environ)
			c.cutting.Store(true)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var runs map[int]string
			var lives sync.WaitGroup
			lives.Go(func() { runs = liveUntil(ctx, t, func() string { return through }) })
			require.Eventually(t, func() bool { return c.cuts.Load() > 150 || t.Failed() }, time.Minute, 10*time.Millisecond)
			cancel()
			lives.Wait()
			c.cutting.Store(false)
			require.NotEmpty(t, runs)
			t.Logf("%d lives, %d cuts", len(runs), c.cuts.Load())
			for n, runID := range runs {
				checkLife(t, direct, runID, n)
			}
		})
	}
}

// BR-06: the answer to a call is lost on its way to the client, once for each event of a life. The client's second try
// changes nothing: the result is the same as if all answers had arrived.
func TestBR06LostAnswers(t *testing.T) {
	t.Parallel()
	_, environ := redisOf(t)
	base, _, stop := startService(t, environ...)
	p := newPatient(func() string { return base })
	runID, log := "", 0
	for i, e := range life(1) {
		path := "/v1/runs/" + runID + "/events"
		if runID == "" {
			path = "/v1/events"
		}
		request := fmt.Sprintf("lost %d", i)
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(base, "http://"))
		require.NoError(t, err)
		_, err = fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nIdempotency-Key: %s\r\nContent-Length: %d\r\n\r\n%s",
			path, request, len(e.body()), e.body())
		require.NoError(t, err)
		_, err = conn.Read(make([]byte, 1)) // answered, but the answer is not received
		require.NoError(t, err)
		require.NoError(t, conn.Close())
		answer, err := p.send(path, request, e.body())
		require.NoError(t, err)
		if runID == "" {
			runID = answer["run"].(map[string]any)["runId"].(string) //nolint:forcetypeassert // a test
		}
		log++
		if e.id == "step_2" && e.kind == "step_started" {
			log++
		}
		_, events := get(t, base+"/v1/runs/"+runID+"/events")
		require.Equal(t, log, strings.Count(events, `"eventType"`), e.kind)
	}
	checkLife(t, base, runID, 1)
	require.NoError(t, stop())
}

// BR-01: two processes receive the same creation concurrently. One stores it; the other one answers a conflict, and so
// does any later call.
func TestBR01TwoProcesses(t *testing.T) {
	t.Parallel()
	_, environ := redisOf(t)
	one, two := startProcess(t, environ...), startProcess(t, environ...)
	runID := newRun(t, one.base, "")
	path := "/v1/runs/" + runID + "/events"
	const rounds = 60
	for i := range rounds {
		for kind, data := range map[string]string{
			"step": `{"stepName":"add","input":"1"}`, "wait": `{"resumeAt":1}`, "hook": fmt.Sprintf(`{"token":"token %d"}`, i),
		} {
			body := event{kind: kind + "_created", id: fmt.Sprintf("%s_%d", kind, i), data: data}.body()
			statuses := make([]int, 2)
			var both sync.WaitGroup
			for at, p := range []*process{one, two} {
				both.Go(func() {
					var err error
					statuses[at], _, err = newPatient(func() string { return p.base }).once(path, fmt.Sprint(kind, i, at), body)
					if err != nil {
						t.Errorf("%s: %v", kind, err)
					}
				})
			}
			both.Wait()
			require.ElementsMatch(t, []int{http.StatusOK, http.StatusConflict}, statuses, kind)
			if i%20 == 0 {
				status, text := send(t, two.base+path, body)
				require.Equal(t, http.StatusConflict, status, text)
				require.Contains(t, text, "EntityConflictError")
			}
		}
	}
	_, log := get(t, two.base+path)
	require.Equal(t, 3*rounds+1, strings.Count(log, `"eventType"`))
}
