package rollback

import (
	"context"
	"log/slog"
	"time"

	"github.com/fxamacker/cbor/v2"

	"github.com/world-redis/world-redis"
)

// Home is a namespace whose calls are remembered.
type Home struct {
	Store  world.LossStore
	Runs   world.RunStore // to find the workflow of a lost resume
	Logger *slog.Logger

	// Used by the watcher: lost calls that are not listed yet, and the number of those not logged.
	unsaved []world.AnsweredCall
	unsaid  int
}

// Recorder is a store that records starts, resumes and ends of runs once it has answered them.
type Recorder struct {
	world.Store
	Home   *Home
	Ledger *Ledger
}

// CreateEvent implements world.EventStore.
func (r *Recorder) CreateEvent(ctx context.Context, req world.CreateEvent) (world.EventResult, error) {
	result, err := r.Store.CreateEvent(ctx, req)
	if err == nil {
		r.event(req, result)
	}
	return result, err
}

// CreateBatch implements world.EventStore.
func (r *Recorder) CreateBatch(ctx context.Context, req world.CreateBatch) ([]world.BatchItem, error) {
	items, err := r.Store.CreateBatch(ctx, req)
	if err != nil {
		return items, err
	}
	for i, item := range items {
		if item.Err == nil {
			e := req.Events[i]
			e.RunID = req.RunID
			r.event(e, item.Result)
		}
	}
	return items, nil
}

// CancelRuns implements world.RunStore.
func (r *Recorder) CancelRuns(ctx context.Context, req world.CancelRuns) ([]world.CancelResult, error) {
	results, err := r.Store.CancelRuns(ctx, req)
	for _, result := range results {
		if result.Outcome == world.Cancelled {
			r.end(result.RunID, world.MillisOf(time.Now()))
		}
	}
	return results, err
}

func (r *Recorder) event(req world.CreateEvent, result world.EventResult) {
	switch req.Type {
	case world.EventRunCreated:
		if result.Run != nil {
			r.start(*result.Run)
		}
	case world.EventRunStarted: // it creates the run if the run does not exist yet
		if result.Run != nil && result.Event != nil && result.Run.CreatedAt == result.Event.CreatedAt && len(req.Data) > 0 {
			r.start(*result.Run)
		}
	case world.EventHookReceived:
		if result.Event != nil {
			r.resume(*result.Event, req.Data)
		}
	case world.EventRunCompleted, world.EventRunFailed, world.EventRunCancelled:
		if result.Event != nil {
			r.end(result.Event.RunID, result.Event.CreatedAt)
		}
	}
}

// CreateLegacyRun implements world.LegacyStore.
func (r *Recorder) CreateLegacyRun(ctx context.Context, req world.CreateLegacyRun) (world.Run, error) {
	run, err := r.Store.CreateLegacyRun(ctx, req)
	if err == nil {
		r.start(run)
	}
	return run, err
}

// CreateLegacyEvent implements world.LegacyStore.
func (r *Recorder) CreateLegacyEvent(ctx context.Context, req world.CreateLegacyEvent) (world.Event, error) {
	event, err := r.Store.CreateLegacyEvent(ctx, req)
	if err == nil && req.Type == world.EventHookReceived {
		r.resume(event, req.Data)
	}
	return event, err
}

func (r *Recorder) start(run world.Run) {
	r.Ledger.add(r.Home, world.AnsweredCall{Kind: world.AnsweredStart, At: run.CreatedAt, RunID: run.RunID, WorkflowName: run.WorkflowName}, time.Now())
}

func (r *Recorder) end(runID string, at world.Millis) {
	r.Ledger.add(r.Home, world.AnsweredCall{Kind: world.AnsweredEnd, At: at, RunID: runID}, time.Now())
}

func (r *Recorder) resume(e world.Event, data world.Fields) {
	var token string
	if raw := data.Get("token"); raw != nil {
		_ = cbor.Unmarshal(raw, &token) // without a token, the hook's id is used
	}
	r.Ledger.add(r.Home, world.AnsweredCall{
		Kind: world.AnsweredResume, At: e.CreatedAt, RunID: e.RunID, EventID: e.EventID, HookID: e.CorrelationID, Token: token, ResumeID: e.ResumeID,
	}, time.Now())
}
