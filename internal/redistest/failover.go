package redistest

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/world-redis/world-redis/internal/redisconn"
)

// SentinelMaster is the name under which a Sentinel knows its master.
const SentinelMaster = "themaster"

// soonSynced makes a master copy its data to a new replica immediately. By default it waits for further replicas.
var soonSynced = []string{"--repl-diskless-sync-delay", "0"}

// StartSentinel starts a master, a replica and a Sentinel that promotes the replica once the master was unreachable
// for half a second. The client closes with the test.
func StartSentinel(tb testing.TB) (r *Redis, master *Server) {
	tb.Helper()
	master = Start(tb, soonSynced...)
	host, port, err := net.SplitHostPort(master.Addr)
	if err != nil {
		tb.Fatal(err)
	}
	Start(tb, "--replicaof", host+" "+port)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	await(ctx, tb, "the replica follows", func() bool {
		return strings.Contains(Client(tb, master.Addr).Info(ctx, "replication").Val(), "state=online")
	})
	watch, err := launchSentinel(host, port)
	if err != nil {
		tb.Fatalf("redis-server --sentinel: %v", err)
	}
	tb.Cleanup(watch.end)
	asking := redis.NewSentinelClient(&redis.Options{Addr: watch.Addr})
	defer asking.Close() //nolint:errcheck // nothing to lose
	await(ctx, tb, "Sentinel knows the replica", func() bool {
		replicas := asking.Replicas(ctx, SentinelMaster).Val()
		return len(replicas) == 1 && replicas[0]["master-link-status"] == "ok"
	})
	client := redis.NewFailoverClient(&redis.FailoverOptions{MasterName: SentinelMaster, SentinelAddrs: []string{watch.Addr}, ContextTimeoutEnabled: true})
	tb.Cleanup(func() {
		if err := client.Close(); err != nil {
			tb.Errorf("close the client: %v", err)
		}
	})
	return &Redis{Client: client, Addr: watch.Addr, Prefix: prefix(tb), Mode: redisconn.Sentinel}, master
}

// StartSentinelOf starts a Sentinel of a master; each of more is a line of its settings.
func StartSentinelOf(tb testing.TB, master string, more ...string) {
	tb.Helper()
	host, port, err := net.SplitHostPort(master)
	if err != nil {
		tb.Fatal(err)
	}
	watch, err := launchSentinel(host, port, more...)
	if err != nil {
		tb.Fatalf("redis-server --sentinel: %v", err)
	}
	tb.Cleanup(watch.end)
}

// launchSentinel starts a Sentinel for a master; each of more is a line of its settings.
func launchSentinel(host, port string, more ...string) (*Server, error) {
	dir, err := os.MkdirTemp("", "redistest")
	if err != nil {
		return nil, err
	}
	own, err := freePort()
	if err != nil {
		return nil, err
	}
	// Sentinel writes its state into its file.
	file := filepath.Join(dir, "sentinel.conf")
	settings := fmt.Sprintf("port %d\nbind 127.0.0.1\ndir %s\nsentinel monitor %[3]s %s %s 1\nsentinel down-after-milliseconds %[3]s 500\nsentinel failover-timeout %[3]s 3000\n",
		own, dir, SentinelMaster, host, port)
	settings += strings.Join(more, "\n") + "\n"
	if err := os.WriteFile(file, []byte(settings), 0o600); err != nil {
		return nil, err
	}
	s := &Server{Addr: fmt.Sprintf("127.0.0.1:%d", own), dir: dir, args: []string{file, "--sentinel"}}
	return s, s.Restart()
}

// Replicated is a cluster in which every master has a replica.
type Replicated struct {
	*Redis
	Masters, Replicas []*Server // initially, in pairs
}

// FailOver promotes all replicas, as an operator would; nothing is lost by it.
func (c *Replicated) FailOver() error {
	for _, replica := range c.Replicas { // one by one: the masters vote for one at a time
		if err := takeOver(replica.Addr); err != nil {
			return err
		}
	}
	return nil
}

// StartReplicatedCluster starts a cluster for one test, in which every master has a replica. If a setting of a node
// occurs twice, the one in args applies.
func StartReplicatedCluster(tb testing.TB, args ...string) *Replicated {
	tb.Helper()
	c, err := launchCluster(args...)
	if err != nil {
		tb.Fatalf("redis-server cluster: %v", err)
	}
	tb.Cleanup(c.end)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	replicas := make([]*Server, masters)
	for i := range replicas {
		if replicas[i], err = launchClusterNode(args...); err != nil {
			tb.Fatalf("redis-server cluster: %v", err)
		}
		tb.Cleanup(replicas[i].end)
	}
	first := Client(tb, c.nodes[0].Addr)
	for _, replica := range replicas {
		if err := replica.meet(ctx, first); err != nil {
			tb.Fatal(err)
		}
	}
	for i, replica := range replicas {
		client, id := Client(tb, replica.Addr), Client(tb, c.nodes[i].Addr).Do(ctx, "CLUSTER", "MYID").Val()
		await(ctx, tb, "the replica knows its master", func() bool {
			return client.Do(ctx, "CLUSTER", "REPLICATE", id).Err() == nil
		})
		await(ctx, tb, "the replica follows", func() bool {
			return strings.Contains(client.Info(ctx, "replication").Val(), "master_link_status:up")
		})
	}
	for _, node := range append(replicas, c.nodes...) { // otherwise those that do not know a replica would not vote for it
		client := Client(tb, node.Addr)
		await(ctx, tb, "all nodes know each other", func() bool {
			nodes := client.ClusterNodes(ctx).Val()
			return strings.Count(nodes, " connected") == 2*masters && strings.Count(nodes, "slave") == masters &&
				!strings.Contains(nodes, "handshake")
		})
	}
	return &Replicated{Redis: c.connect(tb), Masters: c.nodes, Replicas: replicas}
}

// takeOver makes a replica of a cluster the master.
func takeOver(addr string) error {
	replica := redis.NewClient(&redis.Options{Addr: addr, ContextTimeoutEnabled: true})
	defer replica.Close() //nolint:errcheck // nothing to lose
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for ctx.Err() == nil {
		// Asked again in case the votes were late.
		if err := replica.Do(ctx, "CLUSTER", "FAILOVER").Err(); err != nil {
			return err
		}
		for range 200 {
			if strings.Contains(replica.Info(ctx, "replication").Val(), "role:master") {
				return nil
			}
			time.Sleep(25 * time.Millisecond)
		}
	}
	return fmt.Errorf("%s did not become a master", addr)
}

func await(ctx context.Context, tb testing.TB, what string, is func() bool) {
	tb.Helper()
	for !is() {
		if ctx.Err() != nil {
			tb.Fatalf("not in time: %s", what)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// StartReplicated starts a master for one test, with replicas that follow it.
func StartReplicated(tb testing.TB, replicas int) (r *Redis, master *Server, followers []*Server) {
	tb.Helper()
	master = Start(tb, soonSynced...)
	host, port, err := net.SplitHostPort(master.Addr)
	if err != nil {
		tb.Fatal(err)
	}
	for range replicas {
		followers = append(followers, Start(tb, append([]string{"--replicaof", host + " " + port}, soonSynced...)...))
	}
	r = &Redis{Client: Client(tb, master.Addr), Addr: master.Addr, Prefix: prefix(tb), Mode: redisconn.Standalone}
	AwaitReplicas(tb, master, replicas)
	return r, master, followers
}

// AwaitReplicas waits until this many replicas follow a master and have its writes. A replica that has just got its
// copy may take another second for that.
func AwaitReplicas(tb testing.TB, master *Server, replicas int) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	client := Client(tb, master.Addr)
	await(ctx, tb, "the replicas follow", func() bool {
		var have *redis.Cmd
		_, err := client.Pipelined(ctx, func(p redis.Pipeliner) error {
			p.Publish(ctx, "redistest", "a write that leaves nothing")
			have = p.Do(ctx, "WAIT", replicas, 100)
			return nil
		})
		return err == nil && have.Val() == int64(replicas)
	})
}

// ReplicaOf makes a server follow another; an empty address makes it a master.
func (s *Server) ReplicaOf(ctx context.Context, addr string) error {
	host, port := "NO", "ONE"
	if addr != "" {
		var err error
		if host, port, err = net.SplitHostPort(addr); err != nil {
			return err
		}
	}
	client := redis.NewClient(&redis.Options{Addr: s.Addr, ContextTimeoutEnabled: true})
	defer client.Close() //nolint:errcheck // nothing to lose
	return client.ReplicaOf(ctx, host, port).Err()
}
