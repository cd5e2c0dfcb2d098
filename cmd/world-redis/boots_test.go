package main

import (
	"encoding/json"
	"fmt"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Many runs are parked on hooks, some sleep for a day, twenty were interrupted and have nothing that would wake them.
// Three replicas boot together, repeatedly: the interrupted runs are woken once, the others are left alone, and after
// the last boot there is as much in the queue as after the first.
func replicasBootTogether(t *testing.T) {
	parked, sleeping, boots, rest := 300, 50, 2, 3*time.Second
	const interrupted, replicas = 20, 3
	if *chaosLong {
		parked, sleeping, boots, rest = 5000, 500, 5, 30*time.Second
	}
	a := newEndingApp(t, 0)
	_, environ := redisOf(t)
	environ = append(environ, "WORKFLOW_BASE_URL="+a.URL)
	maker := startProcess(t, environ...)
	begin := func(kind string, i int) (runID string, err error) {
		p := newPatient(func() string { return maker.base })
		path := "/v1/events"
		events := []event{life(i)[0], life(i)[1]}
		switch kind {
		case "parked":
			events = append(events, event{kind: "hook_created", id: "hook_1", data: fmt.Sprintf(`{"token":"boot %d"}`, i)})
		case "sleeping":
			events = append(events, event{kind: "wait_created", id: "wait_1", data: `{"resumeAt":4000000000000}`})
		}
		for n, e := range events {
			answer, err := p.send(path, fmt.Sprintf("boot %s %d %d", kind, i, n), e.body())
			if err != nil {
				return runID, err
			}
			if n == 0 {
				runID = answer["run"].(map[string]any)["runId"].(string) //nolint:forcetypeassert // a test
				path = "/v1/runs/" + runID + "/events"
			}
		}
		if kind == "sleeping" {
			_, err = p.send("/v1/queue", "sleep "+runID, fmt.Sprintf(`{"queueName":"__wkf_workflow_wf","message":{"runId":%q},"delaySeconds":86400}`, runID))
		}
		return runID, err
	}
	var mu sync.Mutex
	var runs []string
	var failed error
	var makers sync.WaitGroup
	for c := range 8 {
		makers.Go(func() {
			for i := c; i < parked+sleeping+interrupted; i += 8 {
				kind := "parked"
				if i >= parked {
					kind = "sleeping"
				}
				if i >= parked+sleeping {
					kind = "interrupted"
				}
				runID, err := begin(kind, i)
				mu.Lock()
				if err != nil {
					failed = err
				}
				if kind == "interrupted" {
					runs = append(runs, runID)
				}
				mu.Unlock()
			}
		})
	}
	makers.Wait()
	require.NoError(t, failed)
	maker.kill()

	var base string
	a.service = func() string { mu.Lock(); defer mu.Unlock(); return base }
	depths := map[int]string{}
	for boot := range boots {
		started := make([]*process, replicas)
		for i := range started {
			started[i] = startProcess(t, append(environ, "WORKFLOW_WORLD_RECOVERY_AFTER=2s")...)
			mu.Lock()
			base = started[0].base
			mu.Unlock()
		}
		if boot == 0 {
			require.Eventually(t, func() bool { return a.begun() == interrupted }, 2*time.Minute, 10*time.Millisecond)
		}
		<-time.After(rest) // several passes of the leader
		_, text := get(t, base+"/v1/queue")
		var answer struct{ Data []map[string]any }
		require.NoError(t, json.Unmarshal([]byte(text), &answer))
		depths[boot] = fmt.Sprint(answer.Data[0]["pending"], answer.Data[0]["active"], answer.Data[0]["scheduled"], answer.Data[0]["retry"])
		for _, p := range started {
			require.NoError(t, p.cmd.Process.Signal(syscall.SIGTERM))
		}
		for _, p := range started {
			require.NoError(t, p.cmd.Wait())
		}
	}
	require.Equal(t, fmt.Sprint(0, 0, sleeping, 0), depths[0])
	require.Equal(t, depths[0], depths[boots-1])
	require.Equal(t, interrupted, a.begun(), "nothing but what was interrupted was delivered")
	a.requireDelivered(t, runs, 1)
}
