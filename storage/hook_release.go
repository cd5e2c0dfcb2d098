package storage

import (
	"context"
	"errors"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/world-redis/world-redis"
)

// releaseBatch is how many hooks are let go in one round trip.
const releaseBatch = 200

// heldHook is a hook with its claim: what has to be undone outside its run's slot.
type heldHook struct {
	claim
	tokenHash string
	until     world.Millis // that it may outlive its run; 0: it does not
}

// parseHook reads a field of the hash of hooks; lua/lib/hook.lua has its form.
func parseHook(runID, hookID, value string) (h heldHook, ok bool) {
	parts := strings.Split(value, " ")
	if len(parts) != 3 && len(parts) != 4 {
		return heldHook{}, false
	}
	return heldHook{claim: claim{runID: runID, hookID: hookID, nonce: parts[1]}, tokenHash: parts[2], until: parseUntil(parts)}, true
}

// leftHooks reads {hook id, hook, ...} from a script that removed hooks.
func leftHooks(runID string, r reply) []heldHook {
	var out []heldHook
	for i := 0; i+1 < len(r); i += 2 {
		if h, ok := parseHook(runID, r.text(i), r.text(i+1)); ok {
			out = append(out, h)
		}
	}
	return out
}

// releaseLeft frees the tokens of hooks that are gone, and then forgets them.
func (s *Store) releaseLeft(ctx context.Context, runID string, left reply) error {
	hooks := leftHooks(runID, left)
	if len(hooks) == 0 {
		return nil
	}
	if err := s.releaseHooks(ctx, hooks); err != nil {
		return err
	}
	hookIDs := make([]string, len(hooks))
	for i, h := range hooks {
		hookIDs[i] = h.hookID
	}
	return fail(s.redis.HDel(ctx, s.keys.of(runID).leftHooks(), hookIDs...).Err())
}

// releaseHooks frees the tokens of hooks that were removed, and takes them off the lists. Each
// key is removed only if it is still this hook's, so a new holder is never robbed.
func (s *Store) releaseHooks(ctx context.Context, hooks []heldHook) error {
	return s.release(ctx, hooks, false)
}

// release is releaseHooks also for hooks that have not been removed but do not live any more: lapsed says so.
func (s *Store) release(ctx context.Context, hooks []heldHook, lapsed bool) error {
	for len(hooks) > 0 {
		batch := hooks[:min(releaseBatch, len(hooks))]
		hooks = hooks[len(batch):]
		inputs := make([]scriptInput, 0, 2*len(batch))
		members, retained := make([]any, 0, len(batch)), make([]any, 0, len(batch))
		for _, h := range batch {
			inputs = append(inputs,
				scriptInput{keys: []string{s.keys.claim(h.tokenHash)}, args: []any{h.claim.String()}},
				scriptInput{keys: []string{s.keys.hook(h.hookID)}, args: []any{h.runID + " " + h.tokenHash}})
			members = append(members, h.runID+"/"+h.hookID)
			if h.until != 0 {
				retained = append(retained, h.runID+"/"+h.hookID)
			}
		}
		if _, err := s.runMany(ctx, s.scripts.valueRelease, inputs); err != nil {
			return err
		}
		_, err := s.redis.Pipelined(ctx, func(p redis.Pipeliner) error {
			for _, h := range batch {
				if k := s.keys.of(h.runID); lapsed {
					p.HDel(ctx, k.hooks(), h.hookID)
					p.ZRem(ctx, k.hooksOrder(), h.hookID)
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

// withdraw gives back the claim of a reservation whose commit was refused, unless the hook
// lives: then the reservation was its own, written again. The list entries stay for the sweeper:
// another call for the same hook may have written them too and be about to commit.
func (s *Store) withdraw(ctx context.Context, held claim, hash string) error {
	live, err := s.fence(ctx, held)
	if err != nil || live {
		return err
	}
	if _, err := s.scripts.valueRelease.Run(ctx, s.redis, []string{s.keys.claim(hash)}, held.String()); err != nil {
		return fail(err)
	}
	return s.restoreEntry(ctx, held.runID, held.hookID)
}

// discard is withdraw for the sweeper, when no call is on its way any more: all goes.
func (s *Store) discard(ctx context.Context, held claim, hash string) error {
	live, err := s.fence(ctx, held)
	if err != nil || live {
		return err
	}
	if err := s.releaseHooks(ctx, []heldHook{{claim: held, tokenHash: hash}}); err != nil {
		return err
	}
	return s.restoreEntry(ctx, held.runID, held.hookID)
}

// restoreEntry writes the list entries of a hook again if it lives after all, under another
// claim than the one that was just withdrawn. Their place in the list of all hooks is then that
// in the list of the run: near enough.
func (s *Store) restoreEntry(ctx context.Context, runID, hookID string) error {
	value, err := s.redis.HGet(ctx, s.keys.of(runID).hooks(), hookID).Result()
	if errors.Is(err, redis.Nil) {
		return nil
	}
	if err != nil {
		return fail(err)
	}
	live, ok := parseHook(runID, hookID, value)
	if !ok {
		return nil
	}
	score, err := s.redis.ZScore(ctx, s.keys.of(runID).hooksOrder(), hookID).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		return fail(err)
	}
	return s.writeHookEntry(ctx, live, score)
}
