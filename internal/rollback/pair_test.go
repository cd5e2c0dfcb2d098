package rollback

import (
	"context"
	"net"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/fxamacker/cbor/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/ids"
	"github.com/world-redis/world-redis/internal/redisconn"
	"github.com/world-redis/world-redis/internal/redistest"
	"github.com/world-redis/world-redis/storage"
)

// pair is a store on a master with a replica, at one address that is switched from one to the other.
type pair struct {
	world.Store
	t               *testing.T
	conn            *redisconn.Conn
	store           *storage.Store
	master, replica *redistest.Server
	address         atomic.Pointer[string]
	minter          *ids.Minter
}

func newPair(t *testing.T) *pair {
	t.Helper()
	p := &pair{t: t, master: redistest.Start(t, "--repl-diskless-sync-delay", "0"), minter: ids.NewMinter(world.SystemClock{})}
	host, port, err := net.SplitHostPort(p.master.Addr)
	require.NoError(t, err)
	p.replica = redistest.Start(t, "--replicaof", host+" "+port)
	p.address.Store(&p.master.Addr)
	client := redis.NewClient(&redis.Options{ContextTimeoutEnabled: true, Dialer: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, *p.address.Load())
	}})
	p.conn = &redisconn.Conn{Client: client, Mode: redisconn.Standalone}
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	p.store, err = storage.New(t.Context(), client, storage.Config{})
	require.NoError(t, err)
	p.Store = p.store
	return p
}

// replicated waits until the replica has all writes.
func (p *pair) replicated() {
	p.t.Helper()
	master := redistest.Client(p.t, p.master.Addr)
	require.Eventually(p.t, func() bool {
		return strings.Contains(master.Info(p.t.Context(), "replication").Val(), "state=online")
	}, patience, tick)
	conn := master.Conn()
	require.NoError(p.t, conn.Set(p.t.Context(), "x", "x", 0).Err())
	require.Equal(p.t, int64(1), conn.Wait(p.t.Context(), 1, patience).Val())
	require.NoError(p.t, conn.Close())
}

// promote makes the replica a master. The old one accepts writes until switchOver.
func (p *pair) promote() {
	p.t.Helper()
	require.NoError(p.t, redistest.Client(p.t, p.replica.Addr).Do(p.t.Context(), "REPLICAOF", "NO", "ONE").Err())
}

func (p *pair) switchOver() {
	p.t.Helper()
	p.address.Store(&p.replica.Addr)
	require.NoError(p.t, p.master.Kill())
}

func (p *pair) event(runID string, kind world.EventType, correlation string, data map[string]any) world.EventResult {
	p.t.Helper()
	var fields world.Fields
	for key, value := range data {
		raw, err := cbor.Marshal(value)
		require.NoError(p.t, err)
		fields = append(fields, world.Field{Key: key, Value: raw})
	}
	got, err := p.CreateEvent(p.t.Context(), world.CreateEvent{RunID: runID, Type: kind, CorrelationID: correlation, SpecVersion: 7, Data: fields})
	require.NoError(p.t, err)
	return got
}

func (p *pair) begin() world.Run {
	p.t.Helper()
	return *p.event(p.minter.Prefixed("wrun_"), world.EventRunCreated, "", start).Run
}

func (p *pair) receive(runID, hookID, payload string) world.Event {
	p.t.Helper()
	return *p.event(runID, world.EventHookReceived, hookID, map[string]any{"token": "token of " + hookID, "payload": []byte(payload)}).Event
}

var start = map[string]any{"deploymentId": "d", "workflowName": "wf", "input": []byte{1}}
