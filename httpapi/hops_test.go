package httpapi

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/httpapi/internal/input"
)

// A service counts the requests that it passes on, and refuses one that came through too many services, on any route.
func TestHopsAreCountedAndBounded(t *testing.T) {
	t.Parallel()
	base, got := webhookApp(t)
	f := webhookFakes(t, world.App{BaseURL: base, DeploymentID: "dpl_2"})
	var queued []world.Message
	f.queue.enqueue = func(m world.Message) (string, error) {
		queued = append(queued, m)
		return "msg_1", nil
	}
	s := newServer(t, f)
	const flow = "/.well-known/workflow/v1/flow"
	for sent, passed := range map[string]string{"": "1", "0": "1", "3": "4", "4": "5"} {
		header := map[string]string{"X-World-Redis-Hops": sent, "X-Vqs-Queue-Name": "__wkf_workflow_w", "X-Vqs-Message-Id": "msg_" + sent}
		if sent == "" {
			delete(header, "X-World-Redis-Hops")
		}
		require.Equal(t, http.StatusFound, call{method: http.MethodPost, target: wildPath, header: header}.do(t, s).Code)
		require.Equal(t, []string{passed}, (<-got).header["X-World-Redis-Hops"])
		require.Equal(t, http.StatusAccepted, call{method: http.MethodPost, target: flow, body: `{"x":1}`, header: header}.do(t, s).Code)
	}
	for _, m := range queued {
		want := map[int]string{0: "", 3: "msg_3", 4: "msg_4"}
		require.Equal(t, want[m.Hops], m.IdempotencyKey, "a delivery that is made again is one message")
	}
	require.Len(t, queued, 4)
	for _, sent := range []string{"5", "100", "-1", "x", "99999999999999999999"} {
		for _, target := range []string{wildPath, flow, "/v1/runs", "/healthz", "/nowhere"} {
			w := call{method: http.MethodPost, target: target, header: map[string]string{"X-World-Redis-Hops": sent, "Accept": input.TypeJSON}}.do(t, s)
			if w.Code == http.StatusNotFound || w.Code == http.StatusMethodNotAllowed {
				continue // there is nothing to pass on
			}
			require.Equal(t, http.StatusLoopDetected, w.Code, target)
			require.Equal(t, "loop_detected", errorOf(t, w.Body.String())["code"])
		}
	}
	require.Len(t, queued, 4)
	require.Empty(t, got)
}
