package main

import (
	"context"
	"log/slog"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/httpapi"
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
	if err != nil {
		t.log.Debug("a delivery goes without the log of its run", slog.String("run", d.RunID), slog.Any("error", err))
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
