package main

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/fxamacker/cbor/v2"
	"github.com/stretchr/testify/require"
)

func TestFastPathsAreAllNoneOrAList(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]fastPaths{
		"": allFastPaths, "all": allFastPaths, " none ": nil,
		"quiet": {quietConns}, " socket, bundles,,": {callSockets, bundles},
		"pipeline,preload,anticipate,bundles,socket,fan-in,request-body,quiet": allFastPaths,
	} {
		c, unknown, err := loadConfig([]string{"WORKFLOW_WORLD_FAST_PATHS=" + value})
		require.NoError(t, err, value)
		require.Empty(t, unknown)
		got, err := parseFastPaths(c.FastPaths)
		require.NoError(t, err)
		require.Equal(t, want, got, value)
	}
	c, _, err := loadConfig(nil)
	require.NoError(t, err)
	require.Equal(t, "all", c.FastPaths)
	for value, name := range map[string]string{"pipline": "pipline", "quiet,none": "none", "all,socket": "all", "Quiet": "Quiet"} {
		_, _, err := loadConfig([]string{"WORKFLOW_WORLD_FAST_PATHS=" + value})
		require.EqualError(t, err, fmt.Sprintf("WORKFLOW_WORLD_FAST_PATHS names %q, which is not a fast path: "+
			"use all, none, or a list of pipeline, preload, anticipate, bundles, socket, fan-in, request-body, quiet", name))
	}
}

// without is the setting that has all fast paths but one.
func without(p fastPath) string {
	rest := slices.DeleteFunc(slices.Clone(allFastPaths), func(other fastPath) bool { return other == p })
	names := make([]string, len(rest))
	for i, other := range rest {
		names[i] = string(other)
	}
	return "WORKFLOW_WORLD_FAST_PATHS=" + strings.Join(names, ",")
}

// listenIn is a proxy to a Redis that records the traffic, in the pieces in which it arrived.
func listenIn(t *testing.T, redis string) (address string, sent func() []string) {
	t.Helper()
	var mu sync.Mutex
	var heard []string
	way := newCutter(t, redis, 1, func(text string) {
		mu.Lock()
		heard = append(heard, text)
		mu.Unlock()
	})
	return way.Addr(), func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(heard)
	}
}

func TestWithoutPipelineAnEventAndItsMessageTravelApart(t *testing.T) {
	t.Parallel()
	r, environ := redisOf(t)
	address, sent := listenIn(t, r.Addr)
	url, wakeUps := newWakenApp(t)
	base, _, stop := startService(t, append(environ, "WORKFLOW_REDIS_URL=redis://"+address, without(pipelines))...)
	t.Cleanup(func() { require.NoError(t, stop()) })
	w := &wide{t: t, base: base}
	post(t, base+"/v1/apps", fmt.Sprintf(`{"baseUrl":%q,"deploymentId":"dpl_1","sdk":"v4","attach":["run_started"]}`, url))
	runID := w.newRun([]byte("input"))
	w.accepted(runID, "run_started", "", nil)
	w.accepted(runID, "step_created", "step_one", m{"stepName": "s", "input": []byte{1}})
	w.accepted(runID, "step_started", "step_one", nil)
	w.endAndWake(runID, "step_one")
	d := <-wakeUps
	require.Contains(t, string(d.message), runID)
	require.Contains(t, string(d.preloaded), "step_completed", "the log still comes along")
	events, messages := 0, 0
	for _, text := range sent() {
		event, message := strings.Contains(text, "step_one"), strings.Contains(text, ":t:msg_")
		require.False(t, event && message, text)
		if event {
			events++
		}
		if message {
			messages++
		}
	}
	require.Positive(t, events)
	require.Positive(t, messages)
}

func TestWithoutPreloadADeliveryBringsNoLog(t *testing.T) {
	t.Parallel()
	url, wakeUps := newWakenApp(t)
	_, environ := redisOf(t)
	base, _, stop := startService(t, append(environ, without(preload))...)
	t.Cleanup(func() { require.NoError(t, stop()) })
	w := &wide{t: t, base: base}
	post(t, base+"/v1/apps", fmt.Sprintf(`{"baseUrl":%q,"deploymentId":"dpl_1","sdk":"v4","attach":["run_started"]}`, url))
	runID := w.newRun([]byte("input"))
	w.accepted(runID, "run_started", "", nil)
	post(t, base+"/v1/queue", fmt.Sprintf(`{"queueName":"__wkf_workflow_wf","message":{"runId":%q},"deploymentId":"dpl_1"}`, runID))
	d := <-wakeUps
	require.Contains(t, string(d.message), runID)
	require.Empty(t, d.preloaded)
}

// A service without bundles answers like one from before them, so clients make their calls separately.
func TestWithoutBundlesOrSocketThoseAreNotFound(t *testing.T) {
	t.Parallel()
	body, err := cbor.Marshal(m{"calls": []m{{"path": "/v1/runs/wrun_00000000000000000000000000"}}})
	require.NoError(t, err)
	for off, want := range map[fastPath][2]int{
		bundles:     {http.StatusNotFound, http.StatusNotFound},
		callSockets: {http.StatusOK, http.StatusNotFound},
		quietConns:  {http.StatusOK, http.StatusSwitchingProtocols},
	} {
		_, environ := redisOf(t)
		base, _, stop := startService(t, append(environ, without(off))...)
		status, answer := (&wide{t: t, base: base}).do(http.MethodPost, "/v1/calls", "", body, "application/cbor")
		require.Equal(t, want[0], status, "%s: %s", off, answer)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, base+"/v1/calls", nil)
		require.NoError(t, err)
		for name, value := range map[string]string{
			"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
			"Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==", "Sec-WebSocket-Protocol": "world-redis.calls.1",
		} {
			req.Header.Set(name, value)
		}
		res, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
		require.NoError(t, err)
		require.Equal(t, want[1], res.StatusCode, off)
		require.NoError(t, res.Body.Close())
		require.NoError(t, stop())
	}
}
