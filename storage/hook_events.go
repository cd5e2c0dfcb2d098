package storage

import (
	"context"
	"strconv"

	"github.com/fxamacker/cbor/v2"
	"github.com/redis/go-redis/v9"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/rediskey"
	"github.com/world-redis/world-redis/storage/internal/record"
)

// createHook applies hook_created: it claims the token, then commits. A token that a live
// hook holds becomes a hook_conflict event, which is an answer and no error.
func (s *Store) createHook(ctx context.Context, c *call) (world.EventResult, error) {
	hash := rediskey.Hash(record.TextField(c.req.Data, "token"))
	retained := ""
	if until, ok := record.MillisField(c.req.Data, "tokenRetentionUntil"); ok {
		retained = strconv.FormatInt(int64(until), 10)
	}
	for range claimTries {
		mine := record.Claim{RunID: c.req.RunID, HookID: c.req.CorrelationID, Nonce: s.ids.New().String()}
		holder, err := s.reserve(ctx, c, hash, mine)
		if err != nil {
			return world.EventResult{}, err
		}
		if !holder.SameHook(mine) {
			live, err := s.fence(ctx, holder)
			if err != nil {
				return world.EventResult{}, err
			}
			if live {
				return s.conflictHook(ctx, c, mine, hash, holder.RunID)
			}
			if holder, err = s.takeOver(ctx, hash, holder.String(), mine); err != nil {
				return world.EventResult{}, err
			}
			if !holder.SameHook(mine) {
				continue // another claimant was faster
			}
		}
		// A claim of this same hook, by a call that crashed or is running at the same time, is used as it is.
		o, err := s.apply(ctx, c, s.scripts.hookCreate, []string{c.keys.hooks(), c.keys.hooksOrder(), c.keys.fence()},
			holder.Nonce, hash, retained, hookPlace(mine.HookID))
		if o.code == codeClaimRevoked {
			fresh := record.Claim{RunID: mine.RunID, HookID: mine.HookID, Nonce: s.ids.New().String()}
			if _, err := s.takeOver(ctx, hash, holder.String(), fresh); err != nil {
				return world.EventResult{}, err
			}
			continue
		}
		// If no hook was created the claim must not stay. After a failure of Redis this is not known; the sweeper or the next
		// claimant finds out.
		applied := err == nil && o.code == codeDone
		if !applied && world.ErrorCode(err) != world.CodeUnavailable {
			if err := s.withdraw(ctx, holder, hash); err != nil {
				return world.EventResult{}, err
			}
		}
		if err != nil {
			return world.EventResult{}, err
		}
		return s.hookResult(c, o), nil
	}
	e := world.Errorf(world.CodeUnavailable, "Too many calls contend for one hook token; try again")
	e.RetryAfter = 1
	return world.EventResult{}, e
}

// conflictHook records that the token belongs to a hook of another run, or to another hook.
func (s *Store) conflictHook(ctx context.Context, c *call, mine record.Claim, hash, conflictingRun string) (world.EventResult, error) {
	if err := s.withdraw(ctx, mine, hash); err != nil {
		return world.EventResult{}, err
	}
	runID, err := cbor.Marshal(conflictingRun)
	if err != nil {
		return world.EventResult{}, fail(err)
	}
	conflict := *c
	conflict.event.Type = world.EventHookConflict
	conflict.event.Data = world.Fields{
		{Key: "token", Value: c.req.Data.Get("token")},
		{Key: "conflictingRunId", Value: runID},
	}
	o, err := s.apply(ctx, &conflict, s.scripts.hookConflict, nil)
	if err != nil {
		return world.EventResult{}, err
	}
	return s.hookResult(&conflict, o), nil
}

// hookResult answers with the hook, or with the conflict alone.
func (s *Store) hookResult(c *call, o scriptOutcome) world.EventResult {
	result := world.EventResult{Event: c.answer(o.stored.Event)}
	if o.stored.Event.Type == world.EventHookCreated {
		hook := record.HookOf(o.stored.Event, c.req.ResolveNone)
		result.Hook = &hook
	}
	return result
}

// receiveHook applies hook_received. Recovery has to look at the run from now on, even if it was parked.
func (s *Store) receiveHook(ctx context.Context, c *call) (world.EventResult, error) {
	o, err := s.applyWatched(ctx, c, s.scripts.hookReceive, []string{c.keys.hooks(), c.keys.resumes()},
		c.req.ResumeID, c.req.ResumePayloadDigest, flag(c.req.PreloadEvents))
	if err != nil {
		return world.EventResult{}, err
	}
	result := world.EventResult{Event: c.answer(o.stored.Event)}
	if !c.req.PreloadEvents {
		return result, nil
	}
	e, err := record.DecodeEntity(c.req.RunID, o.rest, o.own())
	if err != nil {
		return world.EventResult{}, fail(err)
	}
	run := e.Run(c.req.ResolveNone)
	if run.StartedAt == 0 || c.delta.events == nil {
		*c.delta = delta{} // the SDK can use the run and its log together only
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
	if err := s.releaseLeft(context.WithoutCancel(ctx), c.req.RunID, o.rest.List(0)); err != nil {
		return world.EventResult{}, err
	}
	return world.EventResult{Event: c.answer(o.stored.Event)}, nil
}

// applyWatched is apply for an event that comes from outside its run, or leaves something to do. It enters the run into the
// watch in the same round trip.
func (s *Store) applyWatched(ctx context.Context, c *call, script script, keys []string, args ...any) (scriptOutcome, error) {
	return s.applyWith(ctx, c, false, func(p redis.Pipeliner) { s.index.Watch(ctx, p, c.req.RunID) }, script, keys, args...)
}
