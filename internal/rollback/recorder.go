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
	Runs   world.RunStore // names the workflow of a lost resume
	Logger *slog.Logger

	// The watcher's: what is lost and not in the list yet, and how many have no line in the log.
	unsaved []world.AnsweredCall
	unsaid  int
}

// Recorder is a store whose starts and resumes are remembered once it has answered them.
type Recorder struct {
	world.Store
	Home   *Home
	Ledger *Ledger
}

// CreateEvent implements world.EventStore.
func (r *Recorder) CreateEvent(ctx context.Context, req world.CreateEvent) (world.EventResult, error) {
	result, err := r.Store.CreateEvent(ctx, req)
	if err != nil {
		return result, err
	}
	switch req.Type {
	case world.EventRunCreated:
		if result.Run != nil {
			r.start(*result.Run)
		}
	case world.EventRunStarted: // it creates the run that it is the first to hear of
		if result.Run != nil && result.Event != nil && result.Run.CreatedAt == result.Event.CreatedAt && len(req.Data) > 0 {
			r.start(*result.Run)
		}
	case world.EventHookReceived:
		if result.Event != nil {
			r.resume(*result.Event, req.Data)
		}
	}
	return result, err
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

func (r *Recorder) resume(e world.Event, data world.Fields) {
	var token string
	if raw := data.Get("token"); raw != nil {
		_ = cbor.Unmarshal(raw, &token) // without one the hook's id has to do
	}
	r.Ledger.add(r.Home, world.AnsweredCall{
		Kind: world.AnsweredResume, At: e.CreatedAt, RunID: e.RunID, EventID: e.EventID, HookID: e.CorrelationID, Token: token, ResumeID: e.ResumeID,
	}, time.Now())
}
