package main

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/world-redis/world-redis/internal/redistest"
)

// connectionsOf counts the connections of a client name, by node.
func connectionsOf(t *testing.T, client redis.UniversalClient, name string) (byNode map[string]int, total int) {
	t.Helper()
	var mu sync.Mutex
	byNode = map[string]int{}
	count := func(ctx context.Context, node *redis.Client) error {
		list, err := node.ClientList(ctx).Result()
		mu.Lock()
		defer mu.Unlock()
		n := strings.Count(list, " name="+name+" ")
		byNode[node.Options().Addr] = n
		total += n
		return err
	}
	switch c := client.(type) {
	case *redis.ClusterClient:
		require.NoError(t, c.ForEachShard(t.Context(), count))
	case *redis.Client:
		require.NoError(t, count(t.Context(), c))
	}
	return byNode, total
}

// lists makes many callers list runs concurrently.
func lists(t *testing.T, base, token string) {
	t.Helper()
	call := func() error {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, base+"/v1/runs?limit=1", nil)
		if err != nil {
			return err
		}
		req.Header.Set("Authorization", "Bearer "+token)
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			return err
		}
		if res.StatusCode != http.StatusOK {
			err = errors.New(res.Status)
		}
		return errors.Join(err, res.Body.Close())
	}
	var callers errgroup.Group
	for range 50 {
		callers.Go(func() error {
			for range 20 {
				if err := call(); err != nil {
					return err
				}
			}
			return nil
		})
	}
	require.NoError(t, callers.Wait())
}

// A replica that was busy and is idle now closes connections: five are left, on a cluster five plus two per node, and
// one more for each further namespace.
func connectionsGoBack(t *testing.T) {
	standalone := redistest.Start(t)
	cluster := redistest.StartReplicatedCluster(t)
	const token = "token-of-a-namespace-"
	namespaces := "WORKFLOW_WORLD_NAMESPACES=a=" + token + "a,b=" + token + "b,c=" + token + "c"
	var all sync.WaitGroup
	for name, c := range map[string]struct {
		url     string
		client  redis.UniversalClient
		environ string
		most    int
	}{
		"standalone":       {"redis://" + standalone.Addr + "/0", redistest.Client(t, standalone.Addr), "", 5},
		"four_namespaces":  {"redis://" + standalone.Addr + "/0", redistest.Client(t, standalone.Addr), namespaces, 5 + 3},
		"cluster":          {cluster.URL(), cluster.Client, "", 5 + 6*2},
		"cluster_and_four": {cluster.URL(), cluster.Client, namespaces, 5 + 6*2 + 3},
	} {
		all.Go(func() {
			t.Run(name, func(t *testing.T) {
				environ := []string{
					"WORKFLOW_REDIS_URL=" + c.url + "?client_name=" + name, "WORKFLOW_REDIS_KEY_PREFIX=" + name + ":", "WORKFLOW_REDIS_JOB_PREFIX=" + name + "_",
				}
				if c.environ != "" {
					environ = append(environ, c.environ)
				}
				p := startProcess(t, environ...)
				lists(t, p.base, token+"a")
				_, before := connectionsOf(t, c.client, name)
				var after map[string]int
				require.Eventually(t, func() (few bool) {
					var total int
					after, total = connectionsOf(t, c.client, name)
					return total > 0 && total <= c.most
				}, time.Minute, time.Second)
				t.Logf("%d connections after the calls, then %v", before, after)
			})
		})
	}
	all.Wait()
}
