package storage

import (
	"context"
	"log/slog"

	"github.com/world-redis/world-redis/storage/internal/record"
	"github.com/world-redis/world-redis/storage/internal/runindex"
)

// reclaimHooks claims the tokens of a run's hooks again, unless another hook has got one meanwhile, and writes the entries by
// which the hooks are found.
func (s *Store) reclaimHooks(ctx context.Context, e runindex.Entry) error {
	return s.eachHook(ctx, e.RunID, func(h record.HeldHook) error {
		if err := s.writeHookEntry(ctx, h, e.Score); err != nil {
			return err
		}
		r, err := s.scripts.valueClaim.Run(ctx, s.redis, []string{s.keys.claim(h.TokenHash)}, h.Claim.String())
		if err != nil {
			return fail(err)
		}
		if holder := record.ParseClaim(record.Reply(r).Text(1)); !holder.SameHook(h.Claim) {
			s.log.ErrorContext(ctx, "a failover of Redis undid the end of a run, and another run has claimed the token of its hook since; cancel one of the two",
				slog.String("run_id", e.RunID), slog.String("hook_id", h.HookID), slog.String("holder", holder.RunID))
		}
		return nil
	})
}

// eachHook calls a function for each hook that a run holds, some hundreds at a time.
func (s *Store) eachHook(ctx context.Context, runID string, do func(record.HeldHook) error) error {
	for cursor := uint64(0); ; {
		page, next, err := s.redis.HScan(ctx, s.keys.of(runID).hooks(), cursor, "", leftAtOnce).Result()
		if err != nil {
			return fail(err)
		}
		for i := 0; i+1 < len(page); i += 2 {
			if h, ok := record.ParseHook(runID, page[i], page[i+1]); ok {
				if err := do(h); err != nil {
					return err
				}
			}
		}
		if cursor = next; cursor == 0 {
			return nil
		}
	}
}
