package storage

import (
	"context"
	"errors"
	"slices"

	"github.com/redis/go-redis/v9"

	"github.com/world-redis/world-redis/storage/internal/record"
)

const (
	// releaseBatch is how many hooks are released in one round trip.
	releaseBatch = 200
	// leftAtOnce is about how many hooks to release are read at a time (lua/lib/leave.lua).
	leftAtOnce = 500
)

// leftHooks reads {hook id, hook, ...} from a script that removed hooks.
func leftHooks(runID string, r record.Reply) []record.HeldHook {
	var out []record.HeldHook
	for i := 0; i+1 < len(r); i += 2 {
		if h, ok := record.ParseHook(runID, r.Text(i), r.Text(i+1)); ok {
			out = append(out, h)
		}
	}
	return out
}

// releaseLeft frees the tokens of hooks that have ended, and then forgets the hooks. left are those that a script returned. If
// these are not all, because a build before the portions left them, it goes on until all are released.
func (s *Store) releaseLeft(ctx context.Context, runID string, left record.Reply) error {
	more := len(left)%2 == 1 // lua/lib/leave.lua
	if err := s.releaseSome(ctx, runID, left); err != nil || !more {
		return err
	}
	for {
		left, _, err := s.readLeft(ctx, runID)
		if err != nil || len(left) == 0 {
			return err
		}
		if err := s.releaseSome(ctx, runID, left); err != nil {
			return err
		}
	}
}

func (s *Store) releaseSome(ctx context.Context, runID string, left record.Reply) error {
	if err := s.releaseHooks(ctx, leftHooks(runID, left)); err != nil {
		return err
	}
	var hookIDs []string
	for i := 0; i+1 < len(left); i += 2 {
		hookIDs = append(hookIDs, left.Text(i))
	}
	for part := range slices.Chunk(hookIDs, leftAtOnce) {
		if err := s.redis.HDel(ctx, s.keys.of(runID).leftHooks(), part...).Err(); err != nil {
			return fail(err)
		}
	}
	return nil
}

// readLeft reads some of the hooks of a run that are to be released, and whether more is to be removed of the run. The hooks
// are followed by one element if there may be more of them.
func (s *Store) readLeft(ctx context.Context, runID string) (left record.Reply, run record.Entity, err error) {
	keys := s.keys.of(runID)
	for cursor := uint64(0); ; {
		var page *redis.ScanCmd
		var state *redis.SliceCmd
		_, err = s.redis.Pipelined(ctx, func(p redis.Pipeliner) error {
			page, state = p.HScan(ctx, keys.leftHooks(), cursor, "", leftAtOnce), p.HMGet(ctx, keys.run(), fieldCleanup, "x")
			return nil
		})
		if err != nil {
			return nil, record.Entity{}, fail(err)
		}
		run = record.Entity{RunID: runID, Fields: record.Reply{fieldCleanup, state.Val()[0], "x", state.Val()[1]}}
		var fields []string
		fields, cursor = page.Val()
		for _, field := range fields {
			left = append(left, field)
		}
		if cursor != 0 && len(left) > 0 {
			return append(left, ""), run, nil
		}
		if cursor == 0 {
			return left, run, nil
		}
	}
}

// releaseHooks frees the tokens of hooks that were removed, and takes the hooks off the lists. Each key is removed only if it
// is still this hook's, so a new holder loses nothing.
func (s *Store) releaseHooks(ctx context.Context, hooks []record.HeldHook) error {
	return s.release(ctx, hooks, false)
}

// release is releaseHooks, with lapsed also for hooks that no longer live but have not been removed.
func (s *Store) release(ctx context.Context, hooks []record.HeldHook, lapsed bool) error {
	for len(hooks) > 0 {
		batch := hooks[:min(releaseBatch, len(hooks))]
		hooks = hooks[len(batch):]
		inputs := make([]scriptInput, 0, 2*len(batch))
		members, retained := make([]any, 0, len(batch)), make([]any, 0, len(batch))
		for _, h := range batch {
			inputs = append(inputs,
				scriptInput{keys: []string{s.keys.claim(h.TokenHash)}, args: []any{h.Claim.String()}},
				scriptInput{keys: []string{s.keys.hook(h.HookID)}, args: []any{h.RunID + " " + h.TokenHash}})
			members = append(members, h.RunID+"/"+h.HookID)
			if h.Until != 0 {
				retained = append(retained, h.RunID+"/"+h.HookID)
			}
		}
		if _, err := s.runMany(ctx, s.scripts.valueRelease, inputs); err != nil {
			return err
		}
		_, err := s.redis.Pipelined(ctx, func(p redis.Pipeliner) error {
			for _, h := range batch {
				if k := s.keys.of(h.RunID); lapsed {
					p.HDel(ctx, k.hooks(), h.HookID)
					p.ZRem(ctx, k.hooksOrder(), h.HookID)
				}
			}
			p.ZRem(ctx, s.keys.hooksIndex(), members...)
			if len(retained) > 0 {
				p.ZRem(ctx, s.keys.hooksLapse(), retained...)
			}
			return nil
		})
		if err != nil {
			return fail(err)
		}
	}
	return nil
}

// withdraw gives back the claim of a reservation whose commit was refused, unless the hook lives: then this was the claim of
// that hook. The list entries are left to the sweeper, because another call for the same hook may have written them too and be
// about to commit.
func (s *Store) withdraw(ctx context.Context, held record.Claim, hash string) error {
	live, err := s.fence(ctx, held)
	if err != nil || live {
		return err
	}
	if _, err := s.scripts.valueRelease.Run(ctx, s.redis, []string{s.keys.claim(hash)}, held.String()); err != nil {
		return fail(err)
	}
	return s.restoreEntry(ctx, held.RunID, held.HookID)
}

// discard is withdraw for the sweeper, when no call can be on its way any more. It also removes the list entries.
func (s *Store) discard(ctx context.Context, held record.Claim, hash string) error {
	live, err := s.fence(ctx, held)
	if err != nil || live {
		return err
	}
	if err := s.releaseHooks(ctx, []record.HeldHook{{Claim: held, TokenHash: hash}}); err != nil {
		return err
	}
	return s.restoreEntry(ctx, held.RunID, held.HookID)
}

// restoreEntry writes the list entries of a hook again if it lives, under another claim than the one that was just withdrawn.
// It is then listed among all hooks at its place in the list of the run, which is near enough.
func (s *Store) restoreEntry(ctx context.Context, runID, hookID string) error {
	value, err := s.redis.HGet(ctx, s.keys.of(runID).hooks(), hookID).Result()
	if errors.Is(err, redis.Nil) {
		return nil
	}
	if err != nil {
		return fail(err)
	}
	live, ok := record.ParseHook(runID, hookID, value)
	if !ok {
		return nil
	}
	score, err := s.redis.ZScore(ctx, s.keys.of(runID).hooksOrder(), hookID).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		return fail(err)
	}
	return s.writeHookEntry(ctx, live, score)
}
