package storage

import (
	"context"
	"errors"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/rediskey"
	"github.com/world-redis/world-redis/storage/internal/record"
)

// GetHook implements world.HookStore.
func (s *Store) GetHook(ctx context.Context, hookID string, resolveNone bool) (world.Hook, error) {
	if err := world.CheckID("hookId", hookID); err != nil {
		return world.Hook{}, err
	}
	value, err := s.redis.Get(ctx, s.keys.hook(hookID)).Result()
	if errors.Is(err, redis.Nil) {
		return world.Hook{}, world.HookNotFound(hookID)
	}
	if err != nil {
		return world.Hook{}, fail(err)
	}
	runID, _, _ := strings.Cut(value, " ")
	found, err := s.readHook(ctx, record.Claim{RunID: runID, HookID: hookID}, resolveNone, false)
	if err != nil {
		return world.Hook{}, err
	}
	if found == nil {
		return world.Hook{}, world.HookNotFound(hookID)
	}
	return found.hook, nil
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
	holder := record.ParseClaim(value)
	found, err := s.readHook(ctx, holder, resolveNone, true)
	if err != nil {
		return world.Hook{}, err
	}
	// A claim without a live hook counts for nothing, and so does one that was taken over meanwhile.
	if found == nil || found.nonce != holder.Nonce {
		return world.Hook{}, world.HookNotFound(token)
	}
	return found.hook, nil
}

type foundHook struct {
	hook  world.Hook
	nonce string
}

// readHook reads a hook from its run's slot, nil if it does not live, and what a resume needs of the run, if asked.
func (s *Store) readHook(ctx context.Context, wanted record.Claim, resolveNone, resumable bool) (*foundHook, error) {
	heads, err := s.hookHeads(ctx, []record.Claim{wanted}, resolveNone, resumable)
	if err != nil || heads[0] == nil {
		return nil, err
	}
	if err := s.fill(ctx, heads[0].gaps); err != nil {
		return nil, err
	}
	return heads[0].read()
}

// hookHeads is readHook for many, in one round trip a server.
func (s *Store) hookHeads(ctx context.Context, wanted []record.Claim, resolveNone, resumable bool) ([]*head[foundHook], error) {
	inputs := make([]scriptInput, len(wanted))
	for i, w := range wanted {
		keys := s.keys.of(w.RunID)
		inputs[i] = scriptInput{
			keys: []string{keys.hooks(), keys.events(), keys.run()},
			args: []any{w.HookID, want(resolveNone), int64(s.now()), flag(resumable), roomOf(len(wanted))},
		}
	}
	replies, err := s.runMany(ctx, s.scripts.hookRead, inputs)
	if err != nil {
		return nil, err
	}
	out := make([]*head[foundHook], len(wanted))
	for i, r := range replies {
		code, err := r.Code()
		if err != nil {
			return nil, fail(err)
		}
		if code != codeDone {
			continue
		}
		keys, created := s.keys.of(wanted[i].RunID), r.List(2)
		h := &head[foundHook]{}
		h.record(keys.events(), func() string { return hookField(created.Text(0), wanted[i].HookID) }, created, 1)
		h.entity(keys.run(), keys.events(), r.List(3))
		h.read = func() (*foundHook, error) { return readFoundHook(wanted[i], r, resolveNone, resumable) }
		out[i] = h
	}
	return out, nil
}

// legacyPosition stands for the place of a hook of the legacy calls, which has no event of its own.
const legacyPosition = "9999999"

// hookField is the field of the hash of events that a hook's record stands in (lua/lib/legacy_hook.lua).
func hookField(position, hookID string) string {
	if position == legacyPosition {
		return "hook/" + hookID
	}
	return position
}

// readFoundHook reads the reply of hook_read for a hook that lives.
func readFoundHook(wanted record.Claim, r record.Reply, resolveNone, resumable bool) (*foundHook, error) {
	event := r.List(2)
	created, err := record.Decode(wanted.RunID, event.Number(0), event.Text(1), event.Bytes(2))
	if err != nil {
		return nil, fail(err)
	}
	live, _ := record.ParseHook(wanted.RunID, wanted.HookID, r.Text(1))
	found := &foundHook{hook: record.HookOf(created, resolveNone), nonce: live.Nonce}
	if resumable {
		e, err := record.DecodeEntity(wanted.RunID, r.List(3), nil)
		if err != nil {
			return nil, fail(err)
		}
		found.hook.Resume = record.ResumeOf(e.Run(true))
	}
	return found, nil
}
