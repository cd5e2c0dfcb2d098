package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fxamacker/cbor/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis/internal/redistest"
)

// write is a call that writes, with a request id made from its name.
type write struct {
	name, path, kind string // of the body
	body             []byte
}

const jsonKind, binaryKind, cborKind = "application/json", "application/octet-stream", "application/cbor"

func (w write) do(t *testing.T, base string) (status int, answer string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base+w.path, bytes.NewReader(w.body))
	require.NoError(t, err)
	req.Header.Set("Content-Type", w.kind)
	req.Header.Set("Accept", w.kind)
	if w.kind == binaryKind {
		req.Header.Set("Accept", jsonKind)
	}
	req.Header.Set("Idempotency-Key", strings.ReplaceAll(w.name, " ", "-"))
	res, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	require.NoError(t, err)
	defer func() { require.NoError(t, res.Body.Close()) }()
	text, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	if w.kind == cborKind && res.StatusCode == http.StatusOK {
		return statusOfBundle(t, text), string(text)
	}
	return res.StatusCode, string(text)
}

// statusOfBundle is the common status of all calls of a bundle.
func statusOfBundle(t *testing.T, text []byte) int {
	t.Helper()
	type answer struct {
		Status int     `cbor:"status"`
		Then   *answer `cbor:"then"`
	}
	var bundle struct {
		Answers []answer `cbor:"answers"`
	}
	require.NoError(t, cbor.Unmarshal(text, &bundle))
	status := 0
	for _, a := range bundle.Answers {
		if status == 0 {
			status = a.Status
		}
		require.Equal(t, status, a.Status, "%q", text)
	}
	return status
}

// durable is the data of the calls of a test.
type durable struct {
	base, runID string
	resumes     int // that the hook has had
}

func newDurable(t *testing.T, base, token string) durable {
	t.Helper()
	d := durable{base: base, runID: newRun(t, base, "")}
	post(t, base+"/v1/runs/"+d.runID+"/events", event{kind: "run_started"}.body())
	post(t, base+"/v1/runs/"+d.runID+"/events", event{kind: "hook_created", id: "hook_1", data: fmt.Sprintf(`{"token":%q}`, token)}.body())
	return d
}

// writes returns one call of each kind that acknowledges a write: a start, a resume, a message, small and large chunks,
// the close of a stream, and an event with its message in a bundle, as the client sends them.
func (d durable) writes(t *testing.T, round string) []write {
	t.Helper()
	of := func(path string) string { return "/v1/runs/" + d.runID + path }
	item := func(v m) []byte {
		body, err := cbor.Marshal(v)
		require.NoError(t, err)
		return body
	}
	bundle := item(m{"calls": []m{{
		"path": of("/events"), "key": "step-" + round,
		"body": item(m{"event": m{"eventType": "step_created", "specVersion": 7, "correlationId": "step_" + round, "eventData": m{"stepName": "s", "input": []byte("1")}}}),
		"then": m{"path": "/v1/queue", "key": "message-" + round, "body": item(m{
			"queueName": "__wkf_step_s", "idempotencyKey": "step_" + round, "message": m{"workflowRunId": d.runID, "stepId": "step_" + round},
		})},
	}}})
	return []write{
		{name: "start " + round, path: "/v1/events", kind: jsonKind, body: []byte(`{"event":{"eventType":"run_created","specVersion":7,"eventData":{"deploymentId":"dpl_1","workflowName":"wf","input":[]}}}`)},
		{name: "resume " + round, path: of("/events"), kind: jsonKind, body: []byte(event{kind: "hook_received", id: "hook_1", data: `{"payload":"hi"}`}.body())},
		{name: "message " + round, path: "/v1/queue", kind: jsonKind, body: fmt.Appendf(nil, `{"queueName":"__wkf_workflow_w","message":{"runId":%q},"delaySeconds":900}`, d.runID)},
		{name: "chunk " + round, path: of("/streams/strm_" + round), kind: binaryKind, body: []byte("hello")},
		{name: "large chunk " + round, path: of("/streams/strm_large_" + round), kind: binaryKind, body: bytes.Repeat([]byte("x"), 300<<10)},
		{name: "close " + round, path: of("/streams/strm_closed_" + round + "/close"), kind: jsonKind, body: []byte(`{}`)},
		{name: "bundle " + round, path: "/v1/calls", kind: cborKind, body: bundle},
	}
}

// all makes calls concurrently and returns their answers.
func all(t *testing.T, base string, writes []write) (statuses map[string]int, answers map[string]string) {
	t.Helper()
	statuses, answers = map[string]int{}, map[string]string{}
	var mu sync.Mutex
	var calling sync.WaitGroup
	for _, w := range writes {
		calling.Go(func() {
			status, answer := w.do(t, base)
			mu.Lock()
			defer mu.Unlock()
			statuses[w.name], answers[w.name] = status, answer
		})
	}
	calling.Wait()
	return statuses, answers
}

func eachIs(writes []write, status int) map[string]int {
	want := map[string]int{}
	for _, w := range writes {
		want[w.name] = status
	}
	return want
}

// requireOnce asserts that each call of a round has been applied once.
func (d durable) requireOnce(t *testing.T, base, round string, runIDs ...string) {
	t.Helper()
	read := func(path string, into any) {
		status, text := get(t, base+path)
		require.Equal(t, http.StatusOK, status, "%s: %s", path, text)
		require.NoError(t, json.Unmarshal([]byte(text), into))
	}
	for _, runID := range runIDs {
		var run struct{ Status string }
		read("/v1/runs/"+runID, &run)
		require.Equal(t, "pending", run.Status)
	}
	var log struct {
		Data []struct{ EventType, CorrelationID string }
	}
	read("/v1/runs/"+d.runID+"/events?limit=1000", &log)
	steps := 0
	for _, e := range log.Data {
		if e.EventType == "step_created" && e.CorrelationID == "step_"+round {
			steps++
		}
	}
	require.Equal(t, 1, steps)
	type info struct {
		TailIndex int
		Done      bool
	}
	for name, want := range map[string]info{"strm_" + round: {}, "strm_large_" + round: {TailIndex: 1}, "strm_closed_" + round: {TailIndex: -1, Done: true}} {
		var is info
		read("/v1/streams/"+name+"/info", &is)
		require.Equal(t, want, is, name)
	}
	resumed := 0
	for _, e := range log.Data {
		if e.EventType == "hook_received" {
			resumed++
		}
	}
	require.Equal(t, d.resumes, resumed)
}

// prepare writes the chunk by which the service learns the end of the stream for the large one.
func (d durable) prepare(t *testing.T, round string) {
	t.Helper()
	require.Equal(t, http.StatusOK, writeChunk(t, d.base+"/v1/runs/"+d.runID+"/streams/strm_large_"+round, "first"))
}

const unconfirmed = "0 of 1 replicas of Redis confirmed the write in time"

// With WORKFLOW_WORLD_DURABILITY=replicas every call that acknowledges a write waits until a replica has it. While the
// replica is paused each such call is answered 503, and so is its repeat, although that changes nothing; reads
// continue. When the replica is back the repeats are answered, and each call was applied once.
func TestReplicasConfirmWhatIsAcknowledged(t *testing.T) {
	t.Parallel()
	for mode, start := range map[string]func(t *testing.T) (url string, replicas []*redistest.Server){
		"standalone": func(t *testing.T) (string, []*redistest.Server) {
			r, _, replicas := redistest.StartReplicated(t, 1)
			return r.URL(), replicas
		},
		"cluster": func(t *testing.T) (string, []*redistest.Server) {
			c := redistest.StartReplicatedCluster(t)
			return c.URL(), c.Replicas
		},
	} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			address, replicas := start(t)
			base, _, stop := startService(t, "WORKFLOW_REDIS_URL="+address, "WORKFLOW_WORLD_DURABILITY=replicas")
			d := newDurable(t, base, "tok")
			d.prepare(t, "one")
			d.prepare(t, "two")
			first, second := d.writes(t, "one"), d.writes(t, "two")
			statuses, answers := all(t, base, first)
			require.Equal(t, eachIs(first, http.StatusOK), statuses, answers)
			status, _ := get(t, base+"/readyz")
			require.Equal(t, http.StatusOK, status)

			for _, replica := range replicas {
				require.NoError(t, replica.Freeze())
			}
			for range 2 {
				statuses, answers := all(t, base, second)
				require.Equal(t, eachIs(second, http.StatusServiceUnavailable), statuses, answers)
				for name, answer := range answers {
					require.Contains(t, answer, unconfirmed, name)
				}
			}
			// A repeat of an acknowledged call is acknowledged only if a replica also has the later writes.
			statuses, _ = all(t, base, first[:1])
			require.Equal(t, eachIs(first[:1], http.StatusServiceUnavailable), statuses)
			status, _ = get(t, base+"/v1/runs/"+d.runID)
			require.Equal(t, http.StatusOK, status)
			require.Eventually(t, func() bool { status, _ := get(t, base+"/readyz"); return status == http.StatusServiceUnavailable }, time.Minute, 50*time.Millisecond)

			for _, replica := range replicas {
				require.NoError(t, replica.Thaw())
			}
			require.Eventually(t, func() bool { status, _ := get(t, base+"/readyz"); return status == http.StatusOK }, time.Minute, 50*time.Millisecond)
			statuses, answers = all(t, base, second)
			require.Equal(t, eachIs(second, http.StatusOK), statuses, answers)
			d.resumes = 2
			d.requireOnce(t, base, "two", runOf(t, answers["start two"]))
			require.NoError(t, stop())
		})
	}
}

func runOf(t *testing.T, answer string) string {
	t.Helper()
	var created struct {
		Run struct{ RunID string }
	}
	require.NoError(t, json.Unmarshal([]byte(answer), &created))
	require.NotEmpty(t, created.Run.RunID)
	return created.Run.RunID
}

// A replica becomes the master, and the old master, which continues to write for a while, dies: acknowledged writes are
// there, and the others are applied once when they are repeated.
func TestFailoverLosesNothingThatReplicasConfirmed(t *testing.T) {
	t.Parallel()
	r, master, replicas := redistest.StartReplicated(t, 1)
	base, _, stop := startService(t, "WORKFLOW_REDIS_URL="+r.URL(), "WORKFLOW_WORLD_DURABILITY=replicas")
	d := newDurable(t, base, "tok")
	d.prepare(t, "one")
	d.prepare(t, "two")
	acknowledged, lost := d.writes(t, "one"), d.writes(t, "two")
	statuses, answers := all(t, base, acknowledged)
	require.Equal(t, eachIs(acknowledged, http.StatusOK), statuses, answers)
	require.NoError(t, replicas[0].ReplicaOf(t.Context(), "")) // before the master dies: what that still writes is lost
	statuses, _ = all(t, base, lost)
	require.Equal(t, eachIs(lost, http.StatusServiceUnavailable), statuses)
	require.NoError(t, stop())
	require.NoError(t, master.Kill())

	base, _, stop = startService(t, "WORKFLOW_REDIS_URL=redis://"+replicas[0].Addr)
	d.resumes = 1
	d.requireOnce(t, base, "one", runOf(t, answers["start one"]))
	again, answersAgain := all(t, base, append(acknowledged, lost...))
	require.Equal(t, eachIs(append(acknowledged, lost...), http.StatusOK), again, answersAgain)
	d.resumes = 2
	d.requireOnce(t, base, "one", runOf(t, answers["start one"]))
	d.requireOnce(t, base, "two", runOf(t, answersAgain["start two"]))
	require.Equal(t, runOf(t, answers["start one"]), runOf(t, answersAgain["start one"]))
	require.NoError(t, stop())
}

// Sentinel fails over under load. A replaced master accepts writes for a while that no server has later: each
// acknowledged start, resume and chunk is there at the end, whichever server is the master.
func TestSentinelFailoverLosesNothingThatReplicasConfirmed(t *testing.T) {
	t.Parallel()
	r, _ := redistest.StartSentinel(t)
	base, _, stop := startService(t, "WORKFLOW_REDIS_URL="+r.URL(), "WORKFLOW_WORLD_DURABILITY=replicas")
	d := newDurable(t, base, "tok")
	sentinel := redis.NewSentinelClient(&redis.Options{Addr: r.Addr})
	t.Cleanup(func() { require.NoError(t, sentinel.Close()) })
	master := func() string {
		addr, err := sentinel.GetMasterAddrByName(t.Context(), redistest.SentinelMaster).Result()
		require.NoError(t, err)
		return strings.Join(addr, ":")
	}
	ended, acknowledged := make(chan struct{}), make(chan write, 100_000)
	var starts sync.Map // run ids by the name of the call
	var calling sync.WaitGroup
	for caller := range 6 {
		calling.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-ended:
					return
				default:
				}
				round := fmt.Sprintf("%d.%d", caller, i)
				w := d.writes(t, round)[[]int{0, 1, 3}[caller%3]] // a start, a resume, a chunk
				if status, answer := w.do(t, base); status == http.StatusOK {
					if caller%3 == 0 {
						starts.Store(w.name, runOf(t, answer))
					}
					acknowledged <- w
				}
			}
		})
	}
	goesOn := func() { // writes are acknowledged again, so a replica follows
		before := len(acknowledged)
		require.Eventually(t, func() bool { return len(acknowledged) > before+30 }, time.Minute, 10*time.Millisecond)
	}
	goesOn()
	was := master()
	require.Eventually(t, func() bool {
		return sentinel.Failover(t.Context(), redistest.SentinelMaster).Err() == nil // not while it knows no good replica
	}, time.Minute, 100*time.Millisecond)
	require.Eventually(t, func() bool { return master() != was }, time.Minute, 20*time.Millisecond)
	goesOn()
	close(ended)
	calling.Wait()
	close(acknowledged)

	var log struct{ Data []struct{ EventType string } }
	resumed, resumes := 0, 0
	for w := range acknowledged {
		switch kind, round, _ := strings.Cut(w.name, " "); kind {
		case "start":
			runID, _ := starts.Load(w.name)
			status, text := get(t, base+"/v1/runs/"+runID.(string))
			require.Equal(t, http.StatusOK, status, "%s: %s", w.name, text)
		case "resume":
			resumes++
		case "chunk":
			status, text := get(t, base+"/v1/streams/strm_"+round+"/info")
			require.Equal(t, http.StatusOK, status, text)
			require.Contains(t, text, `"tailIndex":0`, w.name)
		}
	}
	for cursor := ""; ; {
		var page struct {
			Data    []struct{ EventType string }
			Cursor  string
			HasMore bool
		}
		status, text := get(t, base+"/v1/runs/"+d.runID+"/events?limit=1000&cursor="+cursor)
		require.Equal(t, http.StatusOK, status, text)
		require.NoError(t, json.Unmarshal([]byte(text), &page))
		log.Data = append(log.Data, page.Data...)
		if cursor = page.Cursor; !page.HasMore {
			break
		}
	}
	for _, e := range log.Data {
		if e.EventType == "hook_received" {
			resumed++
		}
	}
	require.Positive(t, resumes)
	require.GreaterOrEqual(t, resumed, resumes, "one that was not acknowledged may have been carried out")
	require.NoError(t, stop())
}
