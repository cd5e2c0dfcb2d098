package storage

import (
	"context"

	"github.com/world-redis/world-redis"
)

// endRun applies the three terminal events. The hooks of the run are free for others when
// this returns.
func (s *Store) endRun(ctx context.Context, c *call, status world.RunStatus, reference string) (world.EventResult, error) {
	entry := s.entryOf(c.req.RunID, "", c.now, status)
	o, err := s.applyEntered(ctx, c, entry, s.scripts.runEnd, []string{c.keys.hooks(), c.keys.hooksOrder(), c.keys.leftHooks(), c.keys.ended()},
		string(status), reference)
	if err != nil {
		return world.EventResult{}, err
	}
	if o.code == codeReplayed { // the first call may have broken off anywhere
		return s.endResult(ctx, c, o, status)
	}
	// What is committed is finished even if the caller has gone.
	ctx = context.WithoutCancel(ctx)
	result, err := s.runResult(ctx, c, o, o.rest.after(1))
	if err == nil {
		err = s.letGo(ctx, entry.runID, o.rest.list(0), result.Run.ExpiredAt != 0)
	}
	if err == nil {
		s.depart(entry)
	}
	return result, err
}

// endResult completes the end of a run outside its slot, and builds the answer.
func (s *Store) endResult(ctx context.Context, c *call, o outcome, status world.RunStatus) (world.EventResult, error) {
	ctx = context.WithoutCancel(ctx)
	result, err := s.runResult(ctx, c, o, o.rest.after(1))
	if err != nil {
		return world.EventResult{}, err
	}
	return result, s.cleanUp(ctx, o.rest.list(0), result.Run.ExpiredAt != 0, s.entryOf(c.req.RunID, "", c.now, status))
}

// cleanUp does what the end of a run leaves to do outside its slot: it lets go of what the run has there, and moves the
// run in the lists. That comes last, because the sweeper looks after the runs in the lists of the living.
func (s *Store) cleanUp(ctx context.Context, left reply, expired bool, entry runEntry) error {
	if err := s.letGo(ctx, entry.runID, left, expired); err != nil {
		return err
	}
	return s.moveRun(ctx, entry)
}

// letGo frees the tokens of the hooks that are gone, and takes away the streams of a run that keeps nothing.
func (s *Store) letGo(ctx context.Context, runID string, left reply, expired bool) error {
	if err := s.releaseLeft(ctx, runID, left); err != nil {
		return err
	}
	if expired {
		return s.purgeStreams(ctx, runID)
	}
	return nil
}

// settle completes the last change of a run when the call that made it may have broken off.
func (s *Store) settle(ctx context.Context, run world.Run, entry runEntry) error {
	left, err := s.redis.HGetAll(ctx, s.keys.of(run.RunID).leftHooks()).Result()
	if err != nil {
		return fail(err)
	}
	var flat reply
	for hookID, hook := range left {
		flat = append(flat, hookID, hook)
	}
	entry.name, entry.status = run.WorkflowName, run.Status
	return s.cleanUp(ctx, flat, run.ExpiredAt != 0, entry)
}
