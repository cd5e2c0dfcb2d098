package storage

import (
	"context"
	"strings"

	"github.com/redis/go-redis/v9"
)

// A token is claimed for the whole of Redis, in a key of its own hash slot, so creating a hook
// takes two calls: claim, then commit in the run's slot. A claim alone says nothing: whoever
// meets one asks the holder's slot (hook_fence.lua) whether the hook lives. If it does not,
// the claim's nonce is revoked there, in the same script, and only then is the token taken
// over: a commit that was still on its way finds its nonce revoked and starts again.

// claimTries bounds how often one call contends for a token.
const claimTries = 10

// fenceSeconds is how long a revoked nonce is remembered: far longer than a commit can be on
// its way.
const fenceSeconds = 3600

// claim is who holds a token.
type claim struct{ runID, hookID, nonce string }

func (c claim) String() string { return c.runID + " " + c.hookID + " " + c.nonce }

func (c claim) sameHook(other claim) bool { return c.runID == other.runID && c.hookID == other.hookID }

// parseClaim reads a claim; one that cannot be read belongs to nobody.
func parseClaim(text string) claim {
	parts := strings.Split(text, " ")
	if len(parts) != 3 {
		return claim{}
	}
	return claim{runID: parts[0], hookID: parts[1], nonce: parts[2]}
}

// reserve claims the token if it is free, and returns who holds it. What lets the sweeper and
// readers find the hook is written first.
func (s *Store) reserve(ctx context.Context, c *call, hash string, mine claim) (holder claim, err error) {
	until, _ := millisField(c.req.Data, "tokenRetentionUntil")
	err = s.writeHookEntry(ctx, heldHook{claim: mine, tokenHash: hash, until: until}, float64(c.now))
	if err != nil {
		return claim{}, err
	}
	r, err := s.scripts.valueClaim.Run(ctx, s.redis, []string{s.keys.claim(hash)}, mine.String())
	if err != nil {
		return claim{}, fail(err)
	}
	return parseClaim(reply(r).text(1)), nil
}

// writeHookEntry puts a hook where it is found without its run.
func (s *Store) writeHookEntry(ctx context.Context, h heldHook, score float64) error {
	_, err := s.redis.Pipelined(ctx, func(p redis.Pipeliner) error {
		p.ZAddNX(ctx, s.keys.hooksIndex(), redis.Z{Score: score, Member: h.runID + "/" + h.hookID})
		p.Set(ctx, s.keys.hook(h.hookID), h.runID+" "+h.tokenHash, 0)
		p.HSet(ctx, s.keys.locator(h.hookID), h.hookID, h.runID)
		if h.until != 0 {
			s.watchLapse(ctx, p, h.runID+"/"+h.hookID, h.until)
		}
		return nil
	})
	return fail(err)
}

// fence reports whether a claim stands for a live hook; if not, it can never become one.
func (s *Store) fence(ctx context.Context, held claim) (live bool, err error) {
	keys := s.keys.of(held.runID)
	r, err := s.scripts.hookFence.Run(ctx, s.redis, []string{keys.hooks(), keys.fence(), keys.run(), keys.hooksOrder()},
		held.hookID, held.nonce, fenceSeconds, int64(s.now()))
	if err != nil {
		return false, fail(err)
	}
	code, err := reply(r).code()
	return code == codeUnchanged, fail(err)
}

// takeOver replaces a void claim by another, and returns who holds the token then.
func (s *Store) takeOver(ctx context.Context, hash string, void string, mine claim) (holder claim, err error) {
	r, err := s.scripts.valueSwap.Run(ctx, s.redis, []string{s.keys.claim(hash)}, void, mine.String())
	if err != nil {
		return claim{}, fail(err)
	}
	return parseClaim(reply(r).text(1)), nil
}
