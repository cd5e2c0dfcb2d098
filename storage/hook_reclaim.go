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
	for cursor := uint64(0); ; {
		page, next, err := s.redis.HScan(ctx, s.keys.of(e.RunID).hooks(), cursor, "", leftAtOnce).Result()
		if err != nil {
			return fail(err)
		}
		for i := 0; i+1 < len(page); i += 2 {
			h, ok := record.ParseHook(e.RunID, page[i], page[i+1])
			if !ok {
				continue
			}
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
		}
		if cursor = next; cursor == 0 {
			return nil
		}
	}
}
