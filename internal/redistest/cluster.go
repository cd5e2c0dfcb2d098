package redistest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/world-redis/world-redis/internal/redisconn"
)

// masters is how many nodes share the slots of a cluster.
const masters = 3

// OnCluster is an option of [Main]: [Each] runs every test on a cluster, too.
func OnCluster() { binary.onCluster = true }

// NewCluster returns the cluster that the test binary shares, three masters without replicas,
// under a fresh prefix. The client closes with the test.
func NewCluster(tb testing.TB) *Redis {
	tb.Helper()
	binary.clusterOnce.Do(func() { binary.cluster, binary.clusterErr = launchCluster() })
	if binary.clusterErr != nil {
		tb.Fatalf("redis-server cluster: %v", binary.clusterErr)
	}
	return binary.cluster.connect(tb)
}

type cluster struct{ nodes []*Server }

func (c *cluster) addrs() []string {
	var out []string
	for _, n := range c.nodes {
		out = append(out, n.Addr)
	}
	return out
}

func (c *cluster) connect(tb testing.TB) *Redis {
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: c.addrs(), ContextTimeoutEnabled: true})
	tb.Cleanup(func() {
		if err := client.Close(); err != nil {
			tb.Errorf("close the Redis cluster client: %v", err)
		}
	})
	return &Redis{Client: client, Addr: strings.Join(c.addrs(), ","), Prefix: prefix(tb), Mode: redisconn.Cluster}
}

func (c *cluster) end() {
	var ending sync.WaitGroup
	for _, n := range c.nodes {
		ending.Go(n.end)
	}
	ending.Wait()
}

// launchCluster starts the masters. If a setting occurs twice, the one in args applies.
func launchCluster(args ...string) (*cluster, error) {
	c := &cluster{}
	for range masters {
		node, err := launchClusterNode(args...)
		if err != nil {
			return nil, errors.Join(err, c.ended())
		}
		c.nodes = append(c.nodes, node)
	}
	if err := c.form(context.Background()); err != nil {
		return nil, errors.Join(err, c.ended())
	}
	return c, nil
}

func launchClusterNode(more ...string) (*Server, error) {
	bus, err := freePort()
	if err != nil {
		return nil, err
	}
	args := []string{"--cluster-enabled", "yes", "--cluster-port", fmt.Sprint(bus), "--cluster-node-timeout", "30000"}
	return launch(slices.Concat(args, soonSynced, more)...)
}

// meet introduces the node to a cluster.
func (s *Server) meet(ctx context.Context, member *redis.Client) error {
	host, port, err := net.SplitHostPort(s.Addr)
	if err != nil {
		return err
	}
	bus := strings.TrimSpace(s.argument("--cluster-port"))
	if err := member.Do(ctx, "CLUSTER", "MEET", host, port, bus).Err(); err != nil {
		return fmt.Errorf("introduce the node %s: %w", s.Addr, err)
	}
	return nil
}

func (c *cluster) ended() error { c.end(); return nil }

// form introduces the nodes to each other, distributes the slots, and waits until all agree.
func (c *cluster) form(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	nodes := make([]*redis.Client, len(c.nodes))
	for i, n := range c.nodes {
		nodes[i] = redis.NewClient(&redis.Options{Addr: n.Addr, ContextTimeoutEnabled: true})
		defer nodes[i].Close() //nolint:errcheck // nothing to lose
	}
	for i, node := range nodes {
		if err := node.ClusterAddSlotsRange(ctx, i*16384/masters, (i+1)*16384/masters-1).Err(); err != nil {
			return fmt.Errorf("give slots to node %d: %w", i, err)
		}
		if err := c.nodes[i].meet(ctx, nodes[0]); err != nil {
			return err
		}
	}
	for ticker := time.NewTicker(20 * time.Millisecond); ; {
		ready := 0
		for _, node := range nodes {
			info := node.ClusterInfo(ctx).Val()
			if strings.Contains(info, "cluster_state:ok") && strings.Contains(info, fmt.Sprintf("cluster_known_nodes:%d", masters)) {
				ready++
			}
		}
		if ready == masters {
			ticker.Stop()
			return nil
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			ticker.Stop()
			return errors.New("the nodes did not come to agree on the cluster in time")
		}
	}
}

// argument returns the value of a command line argument of the server.
func (s *Server) argument(name string) string {
	for i, a := range s.args {
		if a == name && i+1 < len(s.args) {
			return s.args[i+1]
		}
	}
	return ""
}
