package storage

import (
	"context"
	"log/slog"
)

// orMend applies an event of a step. When the state of the step refuses it, it makes sure that
// this state is what the events say; if it was not, the event gets a second try.
func (s *Store) orMend(ctx context.Context, c *call, apply func() (outcome, error)) (outcome, error) {
	o, err := apply()
	switch o.code {
	case codeStepMissing, codeStepExists, codeStepEnded:
	default:
		return o, err
	}
	mended, mendErr := s.mendStep(ctx, c.req.RunID, c.req.CorrelationID)
	if mendErr != nil {
		return o, s.failIn(ctx, c.req.RunID, mendErr)
	}
	if !mended {
		return o, err
	}
	return apply()
}

// mendEvents is how many events of a step one call reads.
const mendEvents = 500

// mendStep makes a step what its events say, in portions, and reports whether it was something else.
func (s *Store) mendStep(ctx context.Context, runID, stepID string) (mended bool, err error) {
	k := s.keys.of(runID)
	after, state := "", reply(nil)
	for {
		r, err := s.scripts.stepMend.Run(ctx, s.redis, []string{k.run(), k.events(), k.related(), k.step(stepID), k.steps()},
			append([]any{stepID, mendEvents, after}, state...)...)
		if err != nil {
			return false, err
		}
		answer := reply(r)
		code, err := answer.code()
		if err != nil || code != codeDone {
			return false, err
		}
		if after, state = answer.text(1), answer.list(2); after == "" {
			break
		}
	}
	s.stats.stepsMended.Add(1)
	s.log.ErrorContext(ctx, "a step was not what its events say; it is now",
		slog.String("run_id", runID), slog.String("step_id", stepID))
	return true, nil
}
