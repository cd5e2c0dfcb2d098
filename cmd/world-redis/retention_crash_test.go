package main

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/cboritem"
	"github.com/world-redis/world-redis/internal/ids"
	"github.com/world-redis/world-redis/internal/redistest"
	"github.com/world-redis/world-redis/internal/worldtest"
	"github.com/world-redis/world-redis/storage"
	"github.com/world-redis/world-redis/streaming"
)

// The service dies between the end of a run with zero retention and the purge of its streams. Their chunks can no
// longer be read, and another replica, which checks the runs that seem unfinished, removes them. A run that keeps
// everything is read as usual.
func TestChunksAreNotReadAfterACrashAtTheEndOfTheirRun(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		ctx := t.Context()
		tenant := &tenant{}
		var err error
		tenant.streams, err = streaming.New(ctx, r.Client, streaming.Config{Prefix: r.Prefix, Runs: tenant})
		require.NoError(t, err)
		tenant.store, err = storage.New(ctx, r.Client, storage.Config{
			Prefix: r.Prefix, ExpectPurge: tenant.streams.ExpectPurge,
			PurgeStreams: func(context.Context, string) error { return world.Errorf(world.CodeUnavailable, "the process dies") },
		})
		require.NoError(t, err)
		minter := ids.NewMinter(world.SystemClock{})
		send := func(runID string, eventType world.EventType, fields world.Fields) error {
			_, err := tenant.store.CreateEvent(ctx, world.CreateEvent{RunID: runID, Type: eventType, SpecVersion: 7, Data: fields, RequestID: minter.New().String()})
			return err
		}
		text := func(s string) world.Raw { return cboritem.AppendText(nil, s) }
		create := func(more ...world.Field) string {
			runID := minter.Prefixed("wrun_")
			require.NoError(t, send(runID, world.EventRunCreated, append(world.Fields{
				{Key: "deploymentId", Value: text("dpl_1")}, {Key: "workflowName", Value: text("wf")}, {Key: "input", Value: world.Raw{0x80}},
			}, more...)))
			_, err := tenant.streams.AppendChunks(ctx, world.Append{Name: "st-" + runID, RunID: runID, Chunks: [][]byte{[]byte("SECRET")}})
			require.NoError(t, err)
			return runID
		}
		keeps := create()
		attributes := append(append(world.Raw{0xa1}, text("$retention")...), text("0")...)
		keepsNothing := create(world.Field{Key: "attributes", Value: attributes}, world.Field{Key: "allowReservedAttributes", Value: world.Raw{0xf5}})
		chunks := func(runID string) int {
			page, err := tenant.streams.ListChunks(ctx, "st-"+runID, world.PageRequest{})
			require.NoError(t, err)
			return len(page.Data)
		}
		require.Equal(t, 1, chunks(keepsNothing))
		require.NoError(t, send(keeps, world.EventRunCancelled, nil))
		require.Equal(t, world.CodeUnavailable, world.ErrorCode(send(keepsNothing, world.EventRunCancelled, nil)))
		require.Equal(t, 1, chunks(keeps))
		require.Zero(t, chunks(keepsNothing))
		stored, err := r.Keys(ctx, r.Prefix+"stream:*"+keepsNothing+"*")
		require.NoError(t, err)
		require.Len(t, stored, 1)

		other, err := storage.New(ctx, r.Client, storage.Config{
			Prefix: r.Prefix, Clock: worldtest.SkewedClock(2 * time.Minute), PurgeStreams: tenant.streams.PurgeRun, ExpectPurge: tenant.streams.ExpectPurge,
		})
		require.NoError(t, err)
		_, err = other.DueRuns(ctx, world.MillisOf(time.Now().Add(time.Minute)), 0, 100) // as the reconciler looks for them
		require.NoError(t, err)
		stored, err = r.Keys(ctx, r.Prefix+"stream:*"+keepsNothing+"*")
		require.NoError(t, err)
		require.Empty(t, stored)
		require.Equal(t, 1, chunks(keeps))
	})
}
