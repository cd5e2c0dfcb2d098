package redisconn_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis/internal/redisconn"
	"github.com/world-redis/world-redis/internal/redistest"
)

// sentinelWait is for actions that Sentinels take on request.
const sentinelWait = 30 * time.Second

// slowHandOver makes the Sentinels take very long to turn a replaced master into a replica, and to give up a replica
// that does not follow the new one.
func slowHandOver(t *testing.T, s *redistest.SentinelSet) {
	t.Helper()
	const never = 3_600_000 // ms
	for _, sentinel := range s.Sentinels {
		asking := redistest.Client(t, sentinel.Addr)
		require.NoError(t, asking.Do(t.Context(), "SENTINEL", "SET", redistest.SentinelMaster, "down-after-milliseconds", never).Err())
		require.NoError(t, asking.Do(t.Context(), "SENTINEL", "SET", redistest.SentinelMaster, "failover-timeout", never).Err())
		require.NoError(t, asking.Do(t.Context(), "SENTINEL", "DEBUG", "INFO-PERIOD", 1000, "PUBLISH-PERIOD", never, "SLAVE-RECONF-TIMEOUT", never).Err())
	}
}

// failOverBy makes one Sentinel replace the master, as an operator does it.
func failOverBy(t *testing.T, sentinel *redistest.Server) {
	t.Helper()
	asking := redistest.Client(t, sentinel.Addr)
	require.Eventually(t, func() bool {
		return asking.Do(t.Context(), "SENTINEL", "FAILOVER", redistest.SentinelMaster).Err() == nil
	}, sentinelWait, 20*time.Millisecond)
}

// says returns what a Sentinel knows of the master, as text in which to look for a word.
func says(t *testing.T, sentinel *redistest.Server) string {
	t.Helper()
	known, err := redistest.Client(t, sentinel.Addr).Do(t.Context(), "SENTINEL", "MASTER", redistest.SentinelMaster).Result()
	require.NoError(t, err)
	return fmt.Sprint(known)
}

func requireMaster(t *testing.T, s *redistest.Server) {
	t.Helper()
	role, err := redistest.Client(t, s.Addr).Do(t.Context(), "ROLE").Slice()
	require.NoError(t, err)
	require.Equal(t, "master", role[0])
}

// callsReach waits until writes through a connection reach a server.
func callsReach(t *testing.T, conn *redisconn.Conn, server *redistest.Server) {
	t.Helper()
	at, written := redistest.Client(t, server.Addr), 0
	require.Eventually(t, func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		written++
		return conn.Client.Set(ctx, "k", written, 0).Err() == nil && at.Get(t.Context(), "k").Val() == fmt.Sprint(written)
	}, sentinelWait, 20*time.Millisecond)
}

// After SENTINEL FAILOVER the old master answers, and accepts writes, until the Sentinels turn it into a replica; and
// the leading Sentinel says +switch-master when the other replicas follow. Calls and subscriptions wait for neither.
func TestSentinelMasterIsLeftThatStillAnswers(t *testing.T) {
	t.Parallel()
	s := redistest.StartSentinelSet(t)
	third := redistest.Start(t, "--replica-priority", "0", "--replicaof", strings.Replace(s.Master.Addr, ":", " ", 1))
	slowHandOver(t, s)
	for _, sentinel := range s.Sentinels {
		require.Eventually(t, func() bool { return strings.Contains(says(t, sentinel), "num-slaves:2") }, sentinelWait, 20*time.Millisecond)
	}
	conn, err := redisconn.Open(t.Context(), s.URL())
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close()) }()
	heard := conn.Client.Subscribe(t.Context(), "news")
	defer func() { require.NoError(t, heard.Close()) }()
	_, err = heard.Receive(t.Context())
	require.NoError(t, err)
	_ = heard.Channel() // it subscribes again when the connection is lost

	require.NoError(t, third.Freeze())
	failOverBy(t, s.Sentinels[0])
	callsReach(t, conn, s.Replica)
	at := redistest.Client(t, s.Replica.Addr)
	require.Eventually(t, func() bool { return at.PubSubNumSub(t.Context(), "news").Val()["news"] == 1 }, sentinelWait, 20*time.Millisecond)

	require.Contains(t, says(t, s.Sentinels[0]), "failover_in_progress")
	requireMaster(t, s.Master)
}

// One Sentinel knows of a failover and the others do not: until they learn of it, or because they are cut off from the
// first. They are the majority, and their master answers, but the new one is used: also when it is looked for again.
func TestSentinelOfTheNewestFailoverCounts(t *testing.T) {
	t.Parallel()
	s := redistest.StartSentinelSet(t)
	slowHandOver(t, s)
	for _, server := range []*redistest.Server{s.Master, s.Replica} { // Sentinels tell one another by a channel of each Redis
		require.NoError(t, redistest.Client(t, server.Addr).Do(t.Context(), "ACL", "SETUSER", "default", "-publish").Err())
	}
	conn, err := redisconn.Open(t.Context(), s.URL())
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close()) }()
	callsReach(t, conn, s.Master)

	failOverBy(t, s.Sentinels[0])
	callsReach(t, conn, s.Replica)
	require.NoError(t, redistest.Client(t, s.Replica.Addr).ClientKillByFilter(t.Context(), "TYPE", "normal", "SKIPME", "yes").Err())
	callsReach(t, conn, s.Replica)

	for _, sentinel := range s.Sentinels[1:] {
		view, err := redistest.Client(t, sentinel.Addr).Do(t.Context(), "SENTINEL", "GET-MASTER-ADDR-BY-NAME", redistest.SentinelMaster).StringSlice()
		require.NoError(t, err)
		require.Equal(t, s.Master.Addr, strings.Join(view, ":"))
	}
	requireMaster(t, s.Master)
}

// The Sentinel of the address is gone, and the master with it: the other Sentinels, which it knew, are asked for the
// next one.
func TestSentinelsThatOthersKnowAreAsked(t *testing.T) {
	t.Parallel()
	s := redistest.StartSentinelSet(t)
	all := s.Sentinels
	s.Sentinels = all[:1]
	conn, err := redisconn.Open(t.Context(), s.URL())
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close()) }()
	callsReach(t, conn, s.Master)
	require.NoError(t, all[0].Kill())
	require.NoError(t, s.Master.Kill())
	s.AwaitReplica(t.Context(), t, all[1])
	callsReach(t, conn, s.Replica)
}

// Without a Sentinel that knows the master no connection can be made, and the error says what each of them answered.
func TestOpenWithoutAKnownMaster(t *testing.T) {
	t.Parallel()
	master := redistest.Start(t)
	r, _ := redistest.StartSentinel(t)
	for url, want := range map[string]string{
		"redis+sentinel://" + master.Addr + "/0?master=m": "no Sentinel says who the master is: the one at " + master.Addr + ": ERR unknown command",
		"redis+sentinel://" + r.Addr + "/0?master=m":      "the one at " + r.Addr + `: it knows no master of the name "m"`,
		"redis+sentinel://127.0.0.1:1/0?master=m":         "the one at 127.0.0.1:1: dial tcp 127.0.0.1:1",
	} {
		_, err := redisconn.Open(t.Context(), url)
		require.ErrorContains(t, err, want, url)
	}
}
