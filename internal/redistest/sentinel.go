package redistest

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/world-redis/world-redis/internal/redisconn"
)

// sentinelCount is the number of Sentinels in a set; two of them decide.
const sentinelCount = 3

// SentinelSet is a master with a replica, and Sentinels that promote the replica once the master was unreachable for
// half a second.
type SentinelSet struct {
	Master, Replica *Server // initially
	Sentinels       []*Server
}

// StartSentinelSet starts a set for one test.
func StartSentinelSet(tb testing.TB) *SentinelSet {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	s := &SentinelSet{Master: Start(tb, soonSynced...)}
	host, port, err := net.SplitHostPort(s.Master.Addr)
	if err != nil {
		tb.Fatal(err)
	}
	s.Replica = Start(tb, append([]string{"--replicaof", host + " " + port}, soonSynced...)...)
	await(ctx, tb, "the replica follows", func() bool {
		return strings.Contains(Client(tb, s.Master.Addr).Info(ctx, "replication").Val(), "state=online")
	})
	for range sentinelCount {
		sentinel, err := launchSentinel(host, port)
		if err != nil {
			tb.Fatalf("redis-server --sentinel: %v", err)
		}
		tb.Cleanup(sentinel.end)
		s.Sentinels = append(s.Sentinels, sentinel)
	}
	for _, sentinel := range s.Sentinels {
		asking := Client(tb, sentinel.Addr)
		if err := asking.Do(ctx, "SENTINEL", "SET", SentinelMaster, "quorum", sentinelCount/2+1).Err(); err != nil {
			tb.Fatal(err)
		}
		await(ctx, tb, "the Sentinels know each other and the replica", func() bool {
			view, err := asking.Do(ctx, "SENTINEL", "MASTER", SentinelMaster).Result()
			known := fmt.Sprint(view)
			return err == nil && strings.Contains(known, fmt.Sprintf("num-other-sentinels:%d", sentinelCount-1)) && strings.Contains(known, "num-slaves:1")
		})
	}
	return s
}

// URL returns the address in the form of the service's setting.
func (s *SentinelSet) URL() string {
	addrs := make([]string, len(s.Sentinels))
	for i, sentinel := range s.Sentinels {
		addrs[i] = sentinel.Addr
	}
	return (&Redis{Addr: strings.Join(addrs, ","), Mode: redisconn.Sentinel}).URL()
}

// AwaitReplica waits until a Sentinel names the replica as the master.
func (s *SentinelSet) AwaitReplica(ctx context.Context, tb testing.TB, sentinel *Server) {
	tb.Helper()
	asking := Client(tb, sentinel.Addr)
	_, port, _ := net.SplitHostPort(s.Replica.Addr)
	await(ctx, tb, "the Sentinel names the replica", func() bool {
		view, err := asking.Do(ctx, "SENTINEL", "GET-MASTER-ADDR-BY-NAME", SentinelMaster).StringSlice()
		return err == nil && len(view) == 2 && view[1] == port
	})
}
