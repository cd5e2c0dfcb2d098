package storage

import (
	"context"
	"errors"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/ids"
	"github.com/world-redis/world-redis/internal/rediskey"
)

// noOwner stands for the fields that mean something only where users have accounts; the SDK
// insists on text there.
const noOwner = "default"

// hookOf builds a hook from its hook_created event.
func hookOf(e world.Event, resolveNone bool) world.Hook {
	h := world.Hook{
		RunID: e.RunID, HookID: e.CorrelationID, Token: textField(e.Data, "token"),
		OwnerID: noOwner, ProjectID: noOwner, Environment: noOwner, SpecVersion: e.SpecVersion, CreatedAt: e.CreatedAt,
	}
	h.IsWebhook = boolField(e.Data, "isWebhook")
	h.IsSystem = boolField(e.Data, "isSystem")
	h.TokenRetentionUntil, _ = millisField(e.Data, "tokenRetentionUntil")
	if !resolveNone {
		h.Metadata = e.Data.Get("metadata")
	}
	return h
}

// GetHook implements world.HookStore.
func (s *Store) GetHook(ctx context.Context, hookID string, resolveNone bool) (world.Hook, error) {
	if !ids.Valid(hookID) {
		return world.Hook{}, badID("hookId", hookID)
	}
	value, err := s.redis.Get(ctx, s.keys.hook(hookID)).Result()
	if errors.Is(err, redis.Nil) {
		return world.Hook{}, world.HookNotFound(hookID)
	}
	if err != nil {
		return world.Hook{}, fail(err)
	}
	runID, _, _ := strings.Cut(value, " ")
	found, err := s.readHooks(ctx, []claim{{runID: runID, hookID: hookID}}, resolveNone)
	if err != nil {
		return world.Hook{}, err
	}
	if found[0] == nil {
		return world.Hook{}, world.HookNotFound(hookID)
	}
	return found[0].hook, nil
}

// GetHookByToken implements world.HookStore.
func (s *Store) GetHookByToken(ctx context.Context, token string, resolveNone bool) (world.Hook, error) {
	value, err := s.redis.Get(ctx, s.keys.claim(rediskey.Hash(token))).Result()
	if errors.Is(err, redis.Nil) {
		return world.Hook{}, world.HookNotFound(token)
	}
	if err != nil {
		return world.Hook{}, fail(err)
	}
	holder := parseClaim(value)
	found, err := s.readHooksOf(ctx, []claim{holder}, resolveNone, true)
	if err != nil {
		return world.Hook{}, err
	}
	// A claim without a live hook, or one that was taken over meanwhile, is nobody's.
	if found[0] == nil || found[0].nonce != holder.nonce {
		return world.Hook{}, world.HookNotFound(token)
	}
	return found[0].hook, nil
}

type foundHook struct {
	hook  world.Hook
	nonce string
}

// readHooks reads hooks from their runs' slots; one that does not live is nil.
func (s *Store) readHooks(ctx context.Context, wanted []claim, resolveNone bool) ([]*foundHook, error) {
	return s.readHooksOf(ctx, wanted, resolveNone, false)
}

// readHooksOf is readHooks that also reads what a resume needs of the run, if asked.
func (s *Store) readHooksOf(ctx context.Context, wanted []claim, resolveNone, resumable bool) ([]*foundHook, error) {
	inputs := make([]scriptInput, len(wanted))
	for i, w := range wanted {
		keys := s.keys.of(w.runID)
		inputs[i] = scriptInput{
			keys: []string{keys.hooks(), keys.events(), keys.run()},
			args: []any{w.hookID, want(resolveNone), int64(s.now()), flag(resumable)},
		}
	}
	replies, err := s.runMany(ctx, s.scripts.hookRead, inputs)
	if err != nil {
		return nil, err
	}
	out := make([]*foundHook, len(wanted))
	for i, r := range replies {
		code, err := r.code()
		if err != nil {
			return nil, fail(err)
		}
		if code != codeDone {
			continue
		}
		event := r.list(2)
		created, err := decodeRecord(wanted[i].runID, event.number(0), event.text(1), event.bytes(2))
		if err != nil {
			return nil, fail(err)
		}
		live, _ := parseHook(wanted[i].runID, wanted[i].hookID, r.text(1))
		out[i] = &foundHook{hook: hookOf(created, resolveNone), nonce: live.nonce}
		if resumable {
			e, err := decodeEntity(wanted[i].runID, r.list(3), nil)
			if err != nil {
				return nil, fail(err)
			}
			run := e.run(true)
			out[i].hook.Resume = resumeOf(run)
		}
	}
	return out, nil
}
