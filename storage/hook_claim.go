package storage

import (
	"context"

	"github.com/redis/go-redis/v9"

	"github.com/world-redis/world-redis/storage/internal/record"
)

// A token is claimed for the whole of Redis, in a key of its own hash slot. So a hook is created in two steps: claim the token, then
// commit in the run's slot. A claim alone proves nothing: another claimant asks the holder's slot (hook_fence.lua) whether the hook
// lives. If it does not, the same script revokes the claim's nonce, and only then is the token taken over. A commit that was still
// on its way finds its nonce revoked and starts again.

// claimTries bounds how often one call contends for a token.
const claimTries = 10

// fenceSeconds is how long a revoked nonce is remembered: much longer than a commit can be on its way.
const fenceSeconds = 3600

// reserve claims the token if it is free, and returns the holder. The entries by which the sweeper and readers find the hook
// are written first.
func (s *Store) reserve(ctx context.Context, c *call, hash string, mine record.Claim) (holder record.Claim, err error) {
	until, _ := record.MillisField(c.req.Data, "tokenRetentionUntil")
	err = s.writeHookEntry(ctx, record.HeldHook{Claim: mine, TokenHash: hash, Until: until}, float64(c.now))
	if err != nil {
		return record.Claim{}, err
	}
	r, err := s.scripts.valueClaim.Run(ctx, s.redis, []string{s.keys.claim(hash)}, mine.String())
	if err != nil {
		return record.Claim{}, fail(err)
	}
	return record.ParseClaim(record.Reply(r).Text(1)), nil
}

// writeHookEntry writes the entries by which a hook is found without its run.
func (s *Store) writeHookEntry(ctx context.Context, h record.HeldHook, score float64) error {
	_, err := s.redis.Pipelined(ctx, func(p redis.Pipeliner) error {
		p.ZAddNX(ctx, s.keys.hooksIndex(), redis.Z{Score: score, Member: h.RunID + "/" + h.HookID})
		p.Set(ctx, s.keys.hook(h.HookID), h.RunID+" "+h.TokenHash, 0)
		p.HSet(ctx, s.keys.locator(h.HookID), h.HookID, h.RunID)
		if h.Until != 0 {
			s.watchLapse(ctx, p, h.RunID+"/"+h.HookID, h.Until)
		}
		return nil
	})
	return fail(err)
}

// fence reports whether a claim stands for a live hook; if not, it can never become one.
func (s *Store) fence(ctx context.Context, held record.Claim) (live bool, err error) {
	keys := s.keys.of(held.RunID)
	r, err := s.scripts.hookFence.Run(ctx, s.redis, []string{keys.hooks(), keys.fence(), keys.run(), keys.hooksOrder()},
		held.HookID, held.Nonce, fenceSeconds, int64(s.now()))
	if err != nil {
		return false, fail(err)
	}
	code, err := record.Reply(r).Code()
	return code == codeUnchanged, fail(err)
}

// takeOver replaces a void claim by another, and returns who holds the token afterwards.
func (s *Store) takeOver(ctx context.Context, hash string, void string, mine record.Claim) (holder record.Claim, err error) {
	r, err := s.scripts.valueSwap.Run(ctx, s.redis, []string{s.keys.claim(hash)}, void, mine.String())
	if err != nil {
		return record.Claim{}, fail(err)
	}
	return record.ParseClaim(record.Reply(r).Text(1)), nil
}
