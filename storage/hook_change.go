package storage

import (
	"context"

	"github.com/world-redis/world-redis"
)

// receiveHook applies hook_received.
func (s *Store) receiveHook(ctx context.Context, c *call) (world.EventResult, error) {
	o, err := s.apply(ctx, c, s.scripts.hookReceive, []string{c.keys.hooks(), c.keys.resumes()},
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
	o, err := s.apply(ctx, c, s.scripts.hookDispose, []string{c.keys.hooks(), c.keys.hooksOrder(), c.keys.leftHooks()})
	if err != nil {
		return world.EventResult{}, err
	}
	if err := s.releaseLeft(context.WithoutCancel(ctx), c.req.RunID, o.rest.list(0)); err != nil {
		return world.EventResult{}, err
	}
	return world.EventResult{Event: c.answer(o.stored.event)}, nil
}
