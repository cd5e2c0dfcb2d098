package storage

import (
	"context"

	"github.com/fxamacker/cbor/v2"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/rediskey"
	"github.com/world-redis/world-redis/storage/internal/record"
)

// CreateLegacyHook implements world.LegacyStore: as with hook_created, it claims the token and
// then commits.
func (s *Store) CreateLegacyHook(ctx context.Context, req world.CreateLegacyHook) (world.Hook, error) {
	if err := checkLegacyIDs("runId", req.RunID, "hookId", req.HookID); err != nil {
		return world.Hook{}, err
	}
	if !validToken(req.Token) {
		return world.Hook{}, unreadable(world.EventHookCreated, "token")
	}
	encoded, payload, err := legacyHookRecord(req)
	if err != nil {
		return world.Hook{}, fail(err)
	}
	c := s.newLegacyCall(req.RunID, req.HookID, req.RequestID, "create", req.ResolveNone)
	hash := rediskey.Hash(req.Token)
	for range claimTries {
		mine := record.Claim{RunID: req.RunID, HookID: req.HookID, Nonce: s.ids.New().String()}
		holder, free, err := s.claimToken(ctx, c.now, hash, mine)
		if err != nil {
			return world.Hook{}, err
		}
		if !free {
			return world.Hook{}, world.Errorf(world.CodeConflict, "Hook with token %q already exists", req.Token)
		}
		r, err := s.runLegacy(ctx, c, s.scripts.legacyHookCreate, []string{c.keys.hooks(), c.keys.hooksOrder(), c.keys.fence()},
			req.HookID, encoded, payload, holder.Nonce, hash, hookPlace(req.HookID))
		code, codeErr := r.Code()
		if codeErr == nil && code == codeClaimRevoked {
			fresh := record.Claim{RunID: mine.RunID, HookID: mine.HookID, Nonce: s.ids.New().String()}
			if _, err := s.takeOver(ctx, hash, holder.String(), fresh); err != nil {
				return world.Hook{}, err
			}
			continue
		}
		if codeErr == nil && code != codeDone {
			// This call created no hook, so its claim must not stay, unless a hook holds it.
			if err := s.withdraw(ctx, holder, hash); err != nil {
				return world.Hook{}, err
			}
		}
		if err != nil {
			return world.Hook{}, err
		}
		return legacyHookOf(c, r)
	}
	return world.Hook{}, contention()
}

// legacyHookRecord builds what a hook_created event would be.
func legacyHookRecord(req world.CreateLegacyHook) (encoded, payload []byte, err error) {
	token, err := cbor.Marshal(req.Token)
	if err != nil {
		return nil, nil, err
	}
	data := world.Fields{{Key: "token", Value: token}}
	if req.Metadata != nil {
		data = append(data, world.Field{Key: "metadata", Value: req.Metadata})
	}
	return record.Encode(world.Event{RunID: req.RunID, Type: world.EventHookCreated, CorrelationID: req.HookID, Data: data})
}

// noPosition is that of a hook which is no event of its own; lua/lib/legacy_hook.lua.
const noPosition = 9_999_999

func legacyHookOf(c legacyCall, r record.Reply) (world.Hook, error) {
	created, err := record.Decode(c.runID, noPosition, r.Text(1), r.Bytes(2))
	if err != nil {
		return world.Hook{}, fail(err)
	}
	return record.HookOf(created, c.none), nil
}

// claimToken reserves a token, taking it over from a holder whose hook does not live. free is
// false when a live hook of another id has it.
func (s *Store) claimToken(ctx context.Context, now world.Millis, hash string, mine record.Claim) (holder record.Claim, free bool, err error) {
	for range claimTries {
		holder, err = s.reserve(ctx, &call{now: now}, hash, mine)
		if err != nil || holder.SameHook(mine) {
			return holder, err == nil, err
		}
		live, err := s.fence(ctx, holder)
		if err != nil {
			return record.Claim{}, false, err
		}
		if live {
			return holder, false, s.withdraw(ctx, mine, hash)
		}
		if holder, err = s.takeOver(ctx, hash, holder.String(), mine); err != nil || holder.SameHook(mine) {
			return holder, err == nil, err
		}
	}
	return record.Claim{}, false, contention()
}

func contention() error {
	e := world.Errorf(world.CodeUnavailable, "Too many calls contend for one hook token; try again")
	e.RetryAfter = 1
	return e
}

// DisposeLegacyHook implements world.LegacyStore. The token is free for others when this returns.
func (s *Store) DisposeLegacyHook(ctx context.Context, req world.DisposeLegacyHook) (world.Hook, error) {
	if err := checkLegacyIDs("hookId", req.HookID); err != nil {
		return world.Hook{}, err
	}
	// The locator outlives the hook, so that a repeated call finds its first answer.
	runID, err := s.locate(ctx, req.HookID)
	if err != nil {
		return world.Hook{}, err
	}
	if runID == "" {
		return world.Hook{}, world.HookNotFound(req.HookID)
	}
	c := s.newLegacyCall(runID, req.HookID, req.RequestID, "dispose", req.ResolveNone)
	if err := s.index.WatchNow(ctx, runID); err != nil {
		return world.Hook{}, fail(err)
	}
	r, err := s.runLegacy(ctx, c, s.scripts.legacyHookDispose, []string{c.keys.hooks(), c.keys.hooksOrder(), c.keys.leftHooks()}, req.HookID)
	if err != nil {
		return world.Hook{}, err
	}
	if err := s.releaseLeft(context.WithoutCancel(ctx), runID, r.List(2)); err != nil {
		return world.Hook{}, err
	}
	return legacyHookOf(c, r)
}
