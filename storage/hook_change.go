package storage

import (
	"context"

	"github.com/redis/go-redis/v9"

	"github.com/world-redis/world-redis"
)

// receiveHook applies hook_received. A run that was parked has something to look at from here on.
func (s *Store) receiveHook(ctx context.Context, c *call) (world.EventResult, error) {
	o, err := s.applyWatched(ctx, c, s.scripts.hookReceive, []string{c.keys.hooks(), c.keys.resumes()},
		c.req.ResumeID, c.req.ResumePayloadDigest, flag(c.req.PreloadEvents))
	if err != nil {
		return world.EventResult{}, err
	}
	result := world.EventResult{Event: c.answer(o.stored.event)}
	if !c.req.PreloadEvents {
		return result, nil
	}
	e, err := decodeEntity(c.req.RunID, o.rest, o.own())
	if err != nil {
		return world.EventResult{}, fail(err)
	}
	run := e.run(c.req.ResolveNone)
	if run.StartedAt == 0 || c.news.events == nil {
		*c.news = news{} // the SDK can use the run and its log together only
		return result, nil
	}
	result.Run, result.MaxEvents = &run, s.maxEvents
	return result, nil
}

// disposeHook applies hook_disposed. The token is free for others when this returns.
func (s *Store) disposeHook(ctx context.Context, c *call) (world.EventResult, error) {
	o, err := s.applyWatched(ctx, c, s.scripts.hookDispose, []string{c.keys.hooks(), c.keys.hooksOrder(), c.keys.leftHooks()})
	if err != nil {
		return world.EventResult{}, err
	}
	if err := s.releaseLeft(context.WithoutCancel(ctx), c.req.RunID, o.rest.list(0)); err != nil {
		return world.EventResult{}, err
	}
	return world.EventResult{Event: c.answer(o.stored.event)}, nil
}

// applyWatched is apply for an event that comes from outside its run, or leaves something to do: it enters the run into the
// watch, in the same round trip.
func (s *Store) applyWatched(ctx context.Context, c *call, script script, keys []string, args ...any) (outcome, error) {
	return s.applyWith(ctx, c, false, func(p redis.Pipeliner) { s.watch(ctx, p, c.req.RunID) }, script, keys, args...)
}
