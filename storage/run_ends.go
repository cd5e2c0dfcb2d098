package storage

import (
	"context"

	"github.com/redis/go-redis/v9"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/ids"
	"github.com/world-redis/world-redis/storage/internal/record"
)

var _ world.RunEnds = (*Store)(nil)

// CheckRun returns CodeRunNotFound if there is no such run and never will be: a run whose id is new may still be created.
func (s *Store) CheckRun(ctx context.Context, runID string) error {
	ends, err := s.RunEnds(ctx, []string{runID})
	if err != nil {
		return err
	}
	if due, isRun := ids.RunIsDue(runID, s.clock.Now()); ends[0].Missing && (due || !isRun) {
		return world.RunNotFound(runID)
	}
	return nil
}

// RunEnds implements world.RunEnds, in one round trip a server.
func (s *Store) RunEnds(ctx context.Context, runIDs []string) ([]world.RunEnd, error) {
	out := make([]world.RunEnd, len(runIDs))
	reads := make([]*redis.SliceCmd, len(runIDs))
	_, err := s.redis.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, runID := range runIDs {
			if world.ValidID(runID) {
				reads[i] = p.HMGet(ctx, s.keys.of(runID).run(), "s", "ca", "x")
			}
		}
		return nil
	})
	if err != nil {
		return nil, fail(err)
	}
	for i, read := range reads {
		if read == nil {
			out[i].Missing = true // no run has such an id
			continue
		}
		fields := read.Val()
		status, _ := fields[0].(string)
		ended, _ := fields[1].(string)
		out[i].Missing = status == ""
		if world.RunStatus(status).Terminal() {
			out[i].At = world.Millis(record.Int(ended))
			out[i].Emptied = fields[2] != nil
		}
	}
	return out, nil
}
