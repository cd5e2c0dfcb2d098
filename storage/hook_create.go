package storage

import (
	"context"
	"strconv"

	"github.com/fxamacker/cbor/v2"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/rediskey"
)

// createHook applies hook_created: it claims the token, then commits. A token that a live
// hook holds becomes a hook_conflict event, which is an answer and no error.
func (s *Store) createHook(ctx context.Context, c *call) (world.EventResult, error) {
	hash := rediskey.Hash(textField(c.req.Data, "token"))
	retained := ""
	if until, ok := millisField(c.req.Data, "tokenRetentionUntil"); ok {
		retained = strconv.FormatInt(int64(until), 10)
	}
	for range claimTries {
		mine := claim{runID: c.req.RunID, hookID: c.req.CorrelationID, nonce: s.ids.New().String()}
		holder, err := s.reserve(ctx, c, hash, mine)
		if err != nil {
			return world.EventResult{}, err
		}
		if !holder.sameHook(mine) {
			live, err := s.fence(ctx, holder)
			if err != nil {
				return world.EventResult{}, err
			}
			if live {
				return s.conflictHook(ctx, c, mine, hash, holder.runID)
			}
			if holder, err = s.takeOver(ctx, hash, holder.String(), mine); err != nil {
				return world.EventResult{}, err
			}
			if !holder.sameHook(mine) {
				continue // another claimant was faster
			}
		}
		// A claim of this same hook, by a call that crashed or runs beside this one, is used as it is.
		o, err := s.apply(ctx, c, s.scripts.hookCreate, []string{c.keys.hooks(), c.keys.hooksOrder(), c.keys.fence()},
			holder.nonce, hash, retained, hookPlace(mine.hookID))
		if o.code == codeClaimRevoked {
			fresh := claim{runID: mine.runID, hookID: mine.hookID, nonce: s.ids.New().String()}
			if _, err := s.takeOver(ctx, hash, holder.String(), fresh); err != nil {
				return world.EventResult{}, err
			}
			continue
		}
		// Whatever the answer, if no hook came of it the claim must not stay. After a failure of
		// Redis itself nobody knows, and the sweeper or the next claimant finds out.
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
func (s *Store) conflictHook(ctx context.Context, c *call, mine claim, hash, conflictingRun string) (world.EventResult, error) {
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
func (s *Store) hookResult(c *call, o outcome) world.EventResult {
	result := world.EventResult{Event: c.answer(o.stored.event)}
	if o.stored.event.Type == world.EventHookCreated {
		hook := hookOf(o.stored.event, c.req.ResolveNone)
		result.Hook = &hook
	}
	return result
}
