package storage

import (
	"context"

	"github.com/world-redis/world-redis"
)

// endRun applies the three terminal events. The hooks of the run are free for others when
// this returns.
func (s *Store) endRun(ctx context.Context, c *call, status world.RunStatus, reference string) (world.EventResult, error) {
	entry := s.entryFor(c, status)
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
	run, result, err := s.runResultOf(ctx, c, o, o.rest.after(1))
	if err == nil {
		err = s.letGo(ctx, o.rest.list(0), run)
	}
	if err == nil {
		s.depart(entry)
		s.clearLater(ctx, run)
	}
	return result, err
}

// endResult completes the end of a run outside its slot, and builds the answer.
func (s *Store) endResult(ctx context.Context, c *call, o outcome, status world.RunStatus) (world.EventResult, error) {
	ctx = context.WithoutCancel(ctx)
	run, result, err := s.runResultOf(ctx, c, o, o.rest.after(1))
	if err != nil {
		return world.EventResult{}, err
	}
	if err := s.cleanUp(ctx, o.rest.list(0), run, s.entryFor(c, status)); err != nil {
		return result, err
	}
	s.clearLater(ctx, run)
	return result, nil
}

// cleanUp does what the end of a run leaves to do outside its slot: it lets go of what the run has there, and moves the
// run in the lists. That comes last, because the sweeper looks after the runs in the lists of the living.
func (s *Store) cleanUp(ctx context.Context, left reply, run entity, entry runEntry) error {
	if err := s.letGo(ctx, left, run); err != nil {
		return err
	}
	return s.moveRun(ctx, entry)
}

// letGo frees the tokens of the hooks that are gone, takes away the streams of a run that keeps nothing, and enters a run
// of which more is to be removed where the sweeper finds it.
func (s *Store) letGo(ctx context.Context, left reply, run entity) error {
	if err := s.noteCleanup(ctx, run); err != nil {
		return err
	}
	if err := s.releaseLeft(ctx, run.runID, left); err != nil {
		return err
	}
	if run.ms("x") != 0 {
		return s.purgeStreams(ctx, run.runID)
	}
	return nil
}

// settle completes the last change of a run when the call that made it may have broken off.
func (s *Store) settle(ctx context.Context, run world.Run, entry runEntry) error {
	left, state, err := s.readLeft(ctx, run.RunID)
	if err != nil {
		return err
	}
	entry.name, entry.status = run.WorkflowName, run.Status
	return s.cleanUp(ctx, left, state, entry)
}
