package storage

import (
	"context"
	"strconv"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/storage/internal/record"
)

// createLegacy applies an event to a run of spec 1 or less, which knows three (contract §3.10).
func (s *Store) createLegacy(ctx context.Context, c *call, refused error) (world.EventResult, error) {
	switch c.req.Type {
	case world.EventRunCancelled:
		return s.cancelLegacy(ctx, c)
	case world.EventWaitCompleted, world.EventHookReceived:
		c.event.SpecVersion = defaultSpec
		expires := c.req.Type == world.EventHookReceived && c.req.SpecVersion >= record.FirstAttributeSpec
		o, err := s.apply(ctx, c, s.scripts.legacyAppend, nil, flag(expires))
		if err != nil {
			return world.EventResult{}, err
		}
		return world.EventResult{Event: c.answer(o.stored.Event)}, nil
	default:
		return world.EventResult{}, refused
	}
}

func (s *Store) cancelLegacy(ctx context.Context, c *call) (world.EventResult, error) {
	r, err := s.scripts.legacyCancel.Run(ctx, s.redis,
		[]string{c.keys.run(), c.keys.events(), c.keys.hooks(), c.keys.hooksOrder(), c.keys.leftHooks(), c.keys.ended()},
		strconv.FormatInt(int64(c.now), 10), c.want())
	if err != nil {
		return world.EventResult{}, fail(err)
	}
	answer := record.Reply(r)
	code, err := answer.Code()
	if err != nil {
		return world.EventResult{}, fail(err)
	}
	if code != codeDone {
		return world.EventResult{}, refusal(c.req, c.now, code, answer)
	}
	ctx = context.WithoutCancel(ctx)
	e, err := record.DecodeEntity(c.req.RunID, answer.List(1), nil)
	if err != nil {
		return world.EventResult{}, fail(err)
	}
	if err := s.releaseRun(ctx, answer.List(2), e); err != nil {
		return world.EventResult{}, err
	}
	entry := s.entryFor(c, world.RunCancelled)
	entry.Due = s.dueAfterEnd(ctx, e.Run(true))
	if err := s.moveLegacyRun(ctx, entry); err != nil {
		return world.EventResult{}, err
	}
	s.clearLater(ctx, e)
	run := e.Run(c.req.ResolveNone)
	return world.EventResult{Run: &run, MaxEvents: s.maxEvents}, nil
}
