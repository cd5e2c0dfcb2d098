package main

import (
	"log/slog"
	"testing"

	"github.com/fxamacker/cbor/v2"
	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/redisconn"
	"github.com/world-redis/world-redis/internal/redistest"
	"github.com/world-redis/world-redis/queue"
)

// newTestTenant is the default namespace on its own Redis, at that address.
func newTestTenant(t *testing.T) (one *tenant, conn *redisconn.Conn, addr string) {
	t.Helper()
	server := redistest.Start(t)
	conn, err := redisconn.Open(t.Context(), "redis://"+server.Addr)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, conn.Close()) })
	c, _, err := loadConfig(nil)
	require.NoError(t, err)
	policy, err := c.dialPolicy()
	require.NoError(t, err)
	tenants, err := newTenants(t.Context(), conn, policy, c, world.SystemClock{}, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	return tenants[0], conn, server.Addr
}

// BR-13: the run of a dead message is failed with a code and a sentence.
func TestTheRunOfADeadMessageIsFailed(t *testing.T) {
	t.Parallel()
	tenant, _, _ := newTestTenant(t)
	field := func(key string, value any) world.Field {
		encoded, err := cbor.Marshal(value)
		require.NoError(t, err)
		return world.Field{Key: key, Value: encoded}
	}
	created, err := tenant.store.CreateEvent(t.Context(), world.CreateEvent{
		Type: world.EventRunCreated, RequestID: "r", SpecVersion: 7,
		Data: world.Fields{field("deploymentId", "d"), field("workflowName", "w"), field("input", []byte{1})},
	})
	require.NoError(t, err)
	other, err := tenant.store.CreateEvent(t.Context(), world.CreateEvent{
		Type: world.EventRunCreated, RequestID: "r2", SpecVersion: 7,
		Data: world.Fields{field("deploymentId", "d"), field("workflowName", "w"), field("input", []byte{1})},
	})
	require.NoError(t, err)
	const crashed = "the app's process ended 15 times during this delivery"
	require.NoError(t, tenant.runDead(t.Context(), world.Message{RunID: other.Run.RunID}, queue.Fatal, crashed))
	bomb, err := tenant.store.GetRun(t.Context(), other.Run.RunID, false)
	require.NoError(t, err)
	require.Equal(t, "MAX_DELIVERIES_EXCEEDED", bomb.ErrorCode)
	require.Contains(t, string(bomb.Error), `"WorkflowRuntimeError","`+crashed+`"`)

	runID := created.Run.RunID
	require.NoError(t, tenant.runDead(t.Context(), world.Message{RunID: runID}, queue.Undeliverable, "the app answers 500"))
	run, err := tenant.store.GetRun(t.Context(), runID, false)
	require.NoError(t, err)
	require.Equal(t, world.RunFailed, run.Status)
	require.Equal(t, "MAX_DELIVERIES_EXCEEDED", run.ErrorCode)
	require.Contains(t, string(run.Error), "A message of this run could not be delivered: the app answers 500")

	ends, err := tenant.RunEnds(t.Context(), []string{"no run", runID})
	require.NoError(t, err)
	require.Equal(t, []world.RunEnd{{Missing: true}, {At: run.CompletedAt}}, ends)
}
