package main

import (
	"context"
	"log/slog"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/httpapi"
	"github.com/world-redis/world-redis/internal/ids"
	"github.com/world-redis/world-redis/queue"
)

// What goes along with a delivery at most. A longer log is worth a call of its own, and holds up
// nothing here.
const (
	attachedEvents = 100
	attachedBytes  = 64 << 10
)

// attach returns the answer to run_started for a wake-up, when that is certain before it is asked: the run
// is running, so the call would change nothing. A delivery is as good without.
func (t *tenant) attach(ctx context.Context, d world.Delivery) []byte {
	result, ok, err := t.store.ReadStart(ctx, d.RunID, attachedEvents, attachedBytes)
	return t.attached(d.RunID, result, ok, err)
}

// along has the queue read it in the round trip that takes the wake-up.
func (t *tenant) along(runID string) *queue.Along {
	if !ids.Valid(runID) {
		return nil
	}
	read := func(ctx context.Context, reply []any) []byte {
		result, ok, err := t.store.StartOf(ctx, runID, reply)
		return t.attached(runID, result, ok, err)
	}
	return &queue.Along{Call: t.store.StartCall(runID, attachedEvents, attachedBytes), Read: read}
}

func (t *tenant) attached(runID string, result world.EventResult, ok bool, err error) []byte {
	if err != nil {
		t.log.Debug("a delivery goes without the log of its run", slog.String("run", runID), slog.String("error", err.Error()))
		return nil
	}
	if !ok {
		return nil
	}
	encoded := httpapi.EncodeResult(&result)
	if len(encoded) > attachedBytes {
		return nil
	}
	return encoded
}
