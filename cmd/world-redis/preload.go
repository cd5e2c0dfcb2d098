package main

import (
	"context"
	"log/slog"
	"time"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/recovery"
	"github.com/world-redis/world-redis/internal/wire"
	"github.com/world-redis/world-redis/queue"
)

// Limits of a preload. A longer log is worth a call of its own, and does not delay the delivery.
const (
	preloadEvents = 100
	preloadBytes  = 64 << 10
)

// preloader returns what reads the preload of a delivery; nil disables it.
func (t *tenant) preloader() func(context.Context, world.Delivery) ([]byte, world.LogSeen) {
	if !t.fast.has(preload) {
		return nil
	}
	return t.preload
}

// preload returns the answer to run_started for a wake-up if that answer is known in advance: the run is running, so the
// call would change nothing. A delivery works without it, too.
func (t *tenant) preload(ctx context.Context, d world.Delivery) ([]byte, world.LogSeen) {
	at := t.clock.Now()
	result, length, ok, err := t.store.ReadStart(ctx, d.RunID, preloadEvents, preloadBytes)
	return t.encodePreload(d.RunID, result, ok, err), seen(result, length, ok, at)
}

// preloadWithClaim makes the queue read the preload in the round trip that claims the wake-up, or only the length of the
// log. The parker needs the length, so it is read without the fast path, too.
func (t *tenant) preloadWithClaim(runID string, whole bool) *queue.Preload {
	if !world.ValidID(runID) {
		return nil
	}
	at := t.clock.Now()
	read := func(ctx context.Context, reply []any) ([]byte, world.LogSeen) {
		result, length, ok, err := t.store.StartOf(ctx, runID, reply)
		return t.encodePreload(runID, result, ok, err), seen(result, length, ok, at)
	}
	events, bytes := 0, 0
	if whole && t.fast.has(preload) {
		events, bytes = preloadEvents, preloadBytes
	}
	return &queue.Preload{Call: t.store.StartCall(runID, events, bytes), Read: read}
}

// seen returns what was read of a log at a time. It is empty if the log shows that the run waits for more than hooks.
func seen(result world.EventResult, length int64, whole bool, at time.Time) world.LogSeen {
	if whole && !recovery.WaitsForHooksOnly(result.Events) {
		return world.LogSeen{}
	}
	return world.LogSeen{Events: length, HooksOnly: whole, At: at}
}

// encodePreload returns nil if there is no answer, or if it is too long.
func (t *tenant) encodePreload(runID string, result world.EventResult, ok bool, err error) []byte {
	if err != nil {
		t.log.Debug("a delivery is sent without the log of its run", slog.String("run_id", runID), slog.String("error", err.Error()))
		return nil
	}
	if !ok {
		return nil
	}
	encoded := wire.EncodeResult(&result)
	if len(encoded) > preloadBytes {
		return nil
	}
	return encoded
}
