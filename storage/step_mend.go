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
	keys := c.keys
	r, mendErr := s.scripts.stepMend.Run(ctx, s.redis,
		[]string{keys.run(), keys.events(), keys.related(), keys.step(c.req.CorrelationID), keys.steps()}, c.req.CorrelationID)
	if mendErr != nil {
		return o, s.failIn(ctx, c.req.RunID, mendErr)
	}
	if code, codeErr := reply(r).code(); codeErr != nil || code != codeDone {
		return o, err
	}
	s.tellMended(ctx, c.req.RunID, c.req.CorrelationID)
	return apply()
}

func (s *Store) tellMended(ctx context.Context, runID, stepID string) {
	s.stats.stepsMended.Add(1)
	s.log.ErrorContext(ctx, "a step was not what its events say; it is now",
		slog.String("run_id", runID), slog.String("step_id", stepID))
}
