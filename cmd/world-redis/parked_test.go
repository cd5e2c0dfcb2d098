package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis/storage"
)

// A run whose last event is not of a hook, such as one that did a step and waits for an approval, is parked by the
// delivery that began after that event, for any SDK: no wake-up is needed to find out. An event that comes during a
// delivery, and whose wake-up is then lost, was not seen: recovery wakes such a run.
func TestADeliveryThatSawTheWholeLogParksItsRun(t *testing.T) {
	t.Parallel()
	for name, app := range map[string]string{
		"v4":                    `"sdk":"v4","attach":["run_started"]`,
		"v4 that takes no log":  `"sdk":"v4"`,
		"v5":                    `"sdk":"v5"`,
		"v4 with a log of 100+": `"sdk":"v4","attach":["run_started"]`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, environ := redisOf(t)
			after := "1m"
			if name == "v4" { // it waits for recovery, which must not come before a busy machine has got that far
				after = "12s"
			}
			base, _, stop := startService(t, append(environ, "WORKFLOW_WORLD_RECOVERY_AFTER="+after)...)
			t.Cleanup(func() { require.NoError(t, stop()) })
			w := &wide{t: t, base: base}
			var growing atomic.Value
			growing.Store("none")
			var grown atomic.Bool
			server := httptest.NewServer(healthy(func(out http.ResponseWriter, req *http.Request) {
				body, _ := io.ReadAll(req.Body) // cut at the end of the test
				if strings.Contains(string(body), growing.Load().(string)) && !grown.Swap(true) {
					w.accepted(growing.Load().(string), "hook_received", "hook_2", m{"token": "token 2", "payload": []byte{1}})
				}
				out.Header().Set("Content-Type", "application/json")
				_, _ = io.WriteString(out, `{"ok":true}`)
			}))
			t.Cleanup(server.Close)
			post(t, base+"/v1/apps", fmt.Sprintf(`{"baseUrl":%q,"deploymentId":"dpl_1",%s}`, server.URL, app))
			store, err := storage.New(t.Context(), r.Client, storage.Config{Prefix: r.Prefix})
			require.NoError(t, err)
			wake := func(runID string) {
				post(t, base+"/v1/queue", fmt.Sprintf(`{"queueName":"__wkf_workflow_wf","message":{"runId":%q},"deploymentId":"dpl_1"}`, runID))
			}
			approval := func(hook string) string {
				runID := w.newRun([]byte("input"))
				w.accepted(runID, "run_started", "", nil)
				w.accepted(runID, "hook_created", "hook_"+hook, m{"token": "token " + hook})
				steps := 1
				if strings.HasSuffix(name, "+") {
					steps = preloadEvents / 2
				}
				for i := range steps {
					step := fmt.Sprint("step_", i)
					w.accepted(runID, "step_created", step, m{"stepName": "s", "input": []byte{1}})
					w.accepted(runID, "step_started", step, nil)
					w.accepted(runID, "step_completed", step, m{"result": []byte{1}})
				}
				return runID
			}
			rested := func(runID string) bool {
				idles, err := store.RunsIdle(t.Context(), []string{runID})
				require.NoError(t, err)
				return idles[0].MarkedIdle
			}

			parked := approval("1")
			require.Eventually(t, func() bool {
				wake(parked) // not read along when the queue is busy
				return rested(parked)
			}, time.Minute, 250*time.Millisecond)
			woken := func(n int) bool {
				_, metrics := get(t, base+"/metrics")
				return strings.Contains(metrics, fmt.Sprint("world_redis_runs_woken_total ", n))
			}
			require.True(t, woken(0))

			if name != "v4" {
				return // what is below takes long, and is the same
			}
			lost := approval("2")
			growing.Store(lost)
			wake(lost)
			require.Eventually(t, func() bool { return woken(1) }, time.Minute, 100*time.Millisecond)
			require.True(t, grown.Load())
		})
	}
}
