package storage

import (
	"context"
	"log/slog"

	"github.com/world-redis/world-redis/storage/internal/record"
)

// mendRefused compares a step with its events if its state has refused an event. again says that the step was repaired, so the
// event deserves a second try; otherwise err is the answer.
func (s *Store) mendRefused(ctx context.Context, c *call, o scriptOutcome, refused error) (again bool, err error) {
	switch o.code {
	case codeStepMissing, codeStepExists, codeStepEnded:
	default:
		return false, refused
	}
	mended, err := s.mendStep(ctx, c.req.RunID, c.req.CorrelationID)
	if err != nil {
		return false, s.failIn(ctx, c.req.RunID, err)
	}
	return mended, refused
}

// mendEvents is how many events of a step one call reads.
const mendEvents = 500

// mendStep rebuilds a step from its events, in portions, if it differs from them, and reports whether it did.
func (s *Store) mendStep(ctx context.Context, runID, stepID string) (mended bool, err error) {
	k := s.keys.of(runID)
	after, state := "", record.Reply(nil)
	for {
		r, err := s.scripts.stepMend.Run(ctx, s.redis, []string{k.run(), k.events(), k.related(), k.step(stepID), k.steps()},
			append([]any{stepID, mendEvents, after}, state...)...)
		if err != nil {
			return false, err
		}
		answer := record.Reply(r)
		code, err := answer.Code()
		if err != nil || code != codeDone {
			return false, err
		}
		if after, state = answer.Text(1), answer.List(2); after == "" {
			break
		}
	}
	s.stats.stepsMended.Add(1)
	s.log.ErrorContext(ctx, "a step differed from its events and was rebuilt from them",
		slog.String("run_id", runID), slog.String("step_id", stepID))
	return true, nil
}
