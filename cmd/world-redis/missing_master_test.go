package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis/internal/redistest"
	"github.com/world-redis/world-redis/internal/worldtest"
)

// masterOf returns which of the three masters of a test's cluster has a key.
func masterOf(key string) int { return redistest.Slot(key) * 3 / 16384 }

// A master of a cluster and its replica are away when the service starts. If that master has the format of the data, or
// if the whole cluster is down, the service waits for it; otherwise it starts. In both cases it is not ready until the
// master is back, and then it is.
func TestServeStartsWhileAMasterIsAway(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		coverage string
		away     func(prefix string) bool // the first master has what this says
		waits    bool
	}{
		"with the format": {"no", func(prefix string) bool { return masterOf(formatKey(prefix)) == 0 }, true},
		"with a queue": {"no", func(prefix string) bool {
			return masterOf(formatKey(prefix)) != 0 && masterOf("{"+prefix+"flows}") == 0
		}, false},
		"of a cluster that is down without it": {"yes", func(string) bool { return true }, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cluster := redistest.StartReplicatedCluster(t, "--cluster-node-timeout", "1000", "--cluster-require-full-coverage", c.coverage)
			prefix := ""
			for n := 0; prefix == "" || !c.away(prefix); n++ {
				prefix = fmt.Sprintf("away%d_", n)
			}
			require.NoError(t, cluster.Replicas[0].Kill())
			require.NoError(t, cluster.Masters[0].Kill())
			if c.coverage == "yes" { // until then the others serve their slots
				other := redistest.Client(t, cluster.Masters[1].Addr)
				require.Eventually(t, func() bool {
					info := other.ClusterInfo(t.Context()).Val()
					return regexp.MustCompile(`cluster_state:fail`).MatchString(info)
				}, time.Minute, 20*time.Millisecond)
			}

			listen := fmt.Sprintf("127.0.0.1:%d", redistest.FreePort(t))
			settings, _, err := loadConfig([]string{
				"WORKFLOW_WORLD_LISTEN=" + listen, "WORKFLOW_REDIS_URL=" + cluster.URL(), "WORKFLOW_WORLD_ENV=production",
				"WORKFLOW_REDIS_KEY_PREFIX=" + prefix, "WORKFLOW_REDIS_JOB_PREFIX=" + prefix,
			})
			require.NoError(t, err)
			ctx, stop := context.WithCancel(t.Context())
			ended, logged, out := make(chan error, 1), &worldtest.Log{}, &worldtest.Log{}
			go func() { ended <- serve(ctx, settings, slog.New(slog.NewTextHandler(logged, nil)), out) }()
			answers := func(want int) func() bool {
				return func() bool {
					select {
					case err := <-ended:
						require.NoError(t, err)
						require.Fail(t, "the service ended")
					default:
					}
					req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+listen+"/readyz", nil)
					require.NoError(t, err)
					res, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
					return err == nil && res.Body.Close() == nil && res.StatusCode == want
				}
			}
			began := regexp.MustCompile(`listens on`)
			require.Eventually(t, answers(http.StatusServiceUnavailable), time.Minute, 20*time.Millisecond)
			if c.waits {
				require.NotNil(t, logged.Find(regexp.MustCompile(`level=WARN msg="Redis is not ready`)))
				require.Nil(t, out.Find(began))
			} else {
				require.Eventually(t, func() bool { return out.Find(began) != nil }, time.Minute, time.Millisecond)
				require.NotNil(t, logged.Find(regexp.MustCompile(`level=WARN .*check=nodes found="node .* does not answer`)))
			}
			require.NoError(t, cluster.Masters[0].Restart())
			require.Eventually(t, answers(http.StatusOK), time.Minute, 20*time.Millisecond)
			newRun(t, "http://"+listen, "")
			stop()
			require.NoError(t, <-ended)
		})
	}
}
