package storage

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"

	"github.com/fxamacker/cbor/v2"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/storage/internal/record"
)

// lostLogCode is the SDK's error code of a run whose log cannot be replayed.
const lostLogCode = "CORRUPTED_EVENT_LOG"

// lostMark is in the error of a script if the log counts an event that is not there (lua/lib/log.lua).
const lostMark = "EVENTLOST"

// stats counts what was found broken.
type stats struct{ stepsMended, runsLost atomic.Int64 }

// Stats is what this process found broken since its start. Scripts cannot cause it: a person did, or a Redis that lost part of
// its data.
type Stats struct {
	StepsMended int64 // steps that differed from their events
	RunsLost    int64 // runs that were failed because events are missing from their logs
}

// Stats counts what was found broken.
func (s *Store) Stats() Stats {
	return Stats{StepsMended: s.stats.stepsMended.Load(), RunsLost: s.stats.runsLost.Load()}
}

// failIn is fail for a script that reads the log of a run. A log with a missing event can never be replayed, so its run is
// failed: otherwise it would be delivered again and again for nothing.
func (s *Store) failIn(ctx context.Context, runID string, err error) error {
	switch {
	case err == nil:
		return nil
	case endMissing(err):
		return endRefusal(runID, err)
	case !strings.Contains(err.Error(), lostMark):
		return fail(err)
	}
	s.log.ErrorContext(ctx, "an event is gone from the log of a run", slog.String("run_id", runID), slog.Any("error", err))
	if endErr := s.failLost(context.WithoutCancel(ctx), runID); endErr != nil {
		s.log.ErrorContext(ctx, "a run whose log lacks an event could not be failed", slog.String("run_id", runID), slog.Any("error", endErr))
	}
	return world.Wrap(world.CodeInternal, err, fmt.Sprintf("An event is gone from the log of run %s", runID))
}

func (s *Store) failLost(ctx context.Context, runID string) error {
	run, found, err := s.peekRun(ctx, runID)
	if err != nil || !found || run.Status.Terminal() || run.SpecVersion <= 1 {
		return err
	}
	const text = "An event is gone from the run's log"
	var value any = record.ErrorDetails{Message: text}
	if run.SpecVersion >= record.FirstOpaqueErrorSpec { // as the SDK writes a text: its format's name, then devalue
		written, err := json.Marshal([]string{text})
		if err != nil {
			return fmt.Errorf("encode an error: %w", err)
		}
		value = append([]byte("devl"), written...)
	}
	data := world.Fields{}
	for _, f := range []struct {
		key   string
		value any
	}{{"error", value}, {"errorCode", lostLogCode}} {
		encoded, err := cbor.Marshal(f.value)
		if err != nil {
			return fmt.Errorf("encode an error: %w", err)
		}
		data = append(data, world.Field{Key: f.key, Value: encoded})
	}
	req := world.CreateEvent{RunID: runID, Type: world.EventRunFailed, SpecVersion: run.SpecVersion, Data: data, RequestID: lostMark}
	if _, err := s.endRun(ctx, s.newCall(req), world.RunFailed, errorField); err != nil {
		return err
	}
	s.stats.runsLost.Add(1)
	return nil
}
