package storage

import (
	"context"
	"errors"
	"fmt"

	"github.com/fxamacker/cbor/v2"
	"golang.org/x/sync/errgroup"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/storage/internal/record"
)

// cancelsAtOnce is how many runs of one call are cancelled at a time.
const cancelsAtOnce = 16

// CancelRuns implements world.RunStore.
func (s *Store) CancelRuns(ctx context.Context, req world.CancelRuns) ([]world.CancelResult, error) {
	if err := checkCancelRuns(req); err != nil {
		return nil, err
	}
	if req.RequestID == "" {
		req.RequestID = s.ids.New().String()
	}
	results := make([]world.CancelResult, len(req.RunIDs))
	var group errgroup.Group
	group.SetLimit(cancelsAtOnce)
	for i, runID := range req.RunIDs {
		group.Go(func() error {
			results[i] = s.cancelOne(ctx, runID, req)
			return nil
		})
	}
	return results, errors.Join(group.Wait(), ctx.Err())
}

func checkCancelRuns(req world.CancelRuns) error {
	if len(req.RunIDs) == 0 {
		return world.Errorf(world.CodeInvalid, "No run ids are given")
	}
	if err := world.CheckList("run id", req.RunIDs, world.MaxCancelRuns); err != nil {
		return err
	}
	return world.CheckCancelReason("cancelReason", req.Reason)
}

// cancelOne cancels one run and returns the outcome.
func (s *Store) cancelOne(ctx context.Context, runID string, req world.CancelRuns) world.CancelResult {
	result := world.CancelResult{RunID: runID}
	if !world.ValidID(runID) {
		result.Outcome = world.CancelNotFound // there can be no such run
		return result
	}
	already, err := s.cancelUnlessCancelled(ctx, runID, req)
	switch world.ErrorCode(err) {
	case "":
		result.Outcome = world.Cancelled
		if already {
			result.Outcome = world.AlreadyCancelled
		}
	case world.CodeRunNotFound:
		result.Outcome = world.CancelNotFound
	case world.CodeConflict:
		result.Outcome = world.NotCancellable
		run, found, peekErr := s.peekRun(ctx, runID)
		switch {
		case peekErr != nil || !found:
			result.Outcome, result.Code, result.Retryable = world.CancelFailed, world.CodeUnavailable, true
		case run.Status == world.RunCancelled:
			result.Outcome = world.AlreadyCancelled
		default:
			result.Status = run.Status
		}
	default:
		result.Outcome, result.Code = world.CancelFailed, world.ErrorCode(err)
		result.Retryable = result.Code != world.CodeRunNotSupported && result.Code != world.CodeInvalid
	}
	return result
}

// cancelUnlessCancelled applies run_cancelled under a request id of its own for this run. Unlike run_cancelled, it is refused
// if another call has cancelled the run before.
func (s *Store) cancelUnlessCancelled(ctx context.Context, runID string, many world.CancelRuns) (already bool, err error) {
	req := world.CreateEvent{
		RunID: runID, Type: world.EventRunCancelled, RequestID: many.RequestID + " of many", ResolveNone: true,
	}
	if many.Reason != "" {
		reason, err := cbor.Marshal(many.Reason)
		if err != nil {
			return false, fmt.Errorf("encode the cancel reason: %w", err)
		}
		req.Data = world.Fields{{Key: "cancelReason", Value: reason}}
	}
	if err := s.checkEvent(&req); err != nil {
		return false, err
	}
	c := s.newCall(req)
	o, err := s.applyWatched(ctx, c, s.scripts.runCancel, []string{c.keys.hooks(), c.keys.hooksOrder(), c.keys.leftHooks(), c.keys.ended()})
	if errors.Is(err, errLegacyRun) {
		update := world.UpdateLegacyRun{RunID: runID, Status: world.RunCancelled, RequestID: many.RequestID, ResolveNone: true}
		_, changed, err := s.updateLegacyRun(ctx, update)
		return !changed, err
	}
	if err != nil {
		return false, err
	}
	e, err := record.DecodeEntity(runID, o.rest.After(1), nil)
	if err != nil {
		return false, fail(err)
	}
	ctx = context.WithoutCancel(ctx)
	entry := s.entryFor(c, world.RunCancelled)
	entry.Due = s.dueAfterEnd(ctx, e.Run(true))
	if err := s.cleanUp(ctx, o.rest.List(0), e, entry); err != nil {
		return false, err
	}
	s.clearLater(ctx, e)
	return false, nil
}
