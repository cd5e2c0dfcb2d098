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

// attach returns the answer to run_started for a delivery that may bring it along, when that is certain
// before it is asked. A delivery is as good without.
func (t *tenant) attach(ctx context.Context, d world.Delivery) []byte {
	result, ok, err := t.started(ctx, d)
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

// started reads the answer of a run that is running, of which the call would change nothing. The run of a first message
// is started for the app, which is about to ask for just that. What the message offers to make the run of plays no part:
// a run that is not there yet is left to the app. If the message comes again, so does this call, with the same effect.
func (t *tenant) started(ctx context.Context, d world.Delivery) (world.EventResult, bool, error) {
	if d.Plain || d.Attempt > 1 {
		return t.store.ReadStart(ctx, d.RunID, attachedEvents, attachedBytes)
	}
	if len(d.Body) > attachedBytes/2 { // the answer has all of it, too
		return world.EventResult{}, false, nil
	}
	result, err := t.store.CreateEvent(ctx, world.CreateEvent{
		RunID: d.RunID, RequestID: "start " + d.MessageID, Type: world.EventRunStarted, SpecVersion: d.StartSpec,
	})
	return result, err == nil && !result.HasMore, err
}
