package main

import (
	"context"
	"log/slog"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/recovery"
	"github.com/world-redis/world-redis/internal/wire"
	"github.com/world-redis/world-redis/queue"
)

// What goes along with a delivery at most. A longer log is worth a call of its own, and holds up
// nothing here.
const (
	attachedEvents = 100
	attachedBytes  = 64 << 10
)

// attacher has the deliverer read what goes along with a delivery; nil: nothing does.
func (t *tenant) attacher() func(context.Context, world.Delivery) ([]byte, world.LogSeen) {
	if !t.fast.has(preload) {
		return nil
	}
	return t.attach
}

// attach returns the answer to run_started for a wake-up, when that is certain before it is asked: the run
// is running, so the call would change nothing. A delivery is as good without.
func (t *tenant) attach(ctx context.Context, d world.Delivery) ([]byte, world.LogSeen) {
	result, length, ok, err := t.store.ReadStart(ctx, d.RunID, attachedEvents, attachedBytes)
	return t.attached(d.RunID, result, ok, err), seen(result, length, ok)
}

// along has the queue read it, or the length of the log alone, in the round trip that takes the wake-up. The length is
// for the parker, so it is read without preload, too.
func (t *tenant) along(runID string, whole bool) *queue.Along {
	if !world.ValidID(runID) {
		return nil
	}
	read := func(ctx context.Context, reply []any) ([]byte, world.LogSeen) {
		result, length, ok, err := t.store.StartOf(ctx, runID, reply)
		return t.attached(runID, result, ok, err), seen(result, length, ok)
	}
	events, bytes := 0, 0
	if whole && t.fast.has(preload) {
		events, bytes = attachedEvents, attachedBytes
	}
	return &queue.Along{Call: t.store.StartCall(runID, events, bytes), Read: read}
}

// seen is what has been read of a log. One that shows that the run is in the middle of something is not worth a note.
func seen(result world.EventResult, length int64, whole bool) world.LogSeen {
	if whole && !recovery.WaitsForHooksOnly(result.Events) {
		return world.LogSeen{}
	}
	return world.LogSeen{Events: length, HooksOnly: whole}
}

func (t *tenant) attached(runID string, result world.EventResult, ok bool, err error) []byte {
	if err != nil {
		t.log.Debug("a delivery is sent without the log of its run", slog.String("run", runID), slog.String("error", err.Error()))
		return nil
	}
	if !ok {
		return nil
	}
	encoded := wire.EncodeResult(&result)
	if len(encoded) > attachedBytes {
		return nil
	}
	return encoded
}
