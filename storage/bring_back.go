package storage

import (
	"context"
	"log/slog"
)

// bringBack enters a run anew where it belongs if the master that has taken it off its lists may be another one than the master
// that had ended it. A failover may take back the end of a run, and what was done because of it comes to the new master: the run
// would go on there in no list, where nothing finds it, and without its hooks' tokens.
func (s *Store) bringBack(ctx context.Context, e runEntry) error {
	if e.dials == s.dials() {
		return nil
	}
	run, found, err := s.peekRun(ctx, e.runID)
	if err != nil || !found || run.Status.Terminal() {
		return err
	}
	if err := s.claimAgain(ctx, e); err != nil {
		return err
	}
	return s.enterAsIs(ctx, run, e.score)
}

// claimAgain gives the hooks of a run their tokens, unless another hook has got one meanwhile, and has them found by their ids.
func (s *Store) claimAgain(ctx context.Context, e runEntry) error {
	for cursor := uint64(0); ; {
		page, next, err := s.redis.HScan(ctx, s.keys.of(e.runID).hooks(), cursor, "", leftAtOnce).Result()
		if err != nil {
			return fail(err)
		}
		for i := 0; i+1 < len(page); i += 2 {
			h, ok := parseHook(e.runID, page[i], page[i+1])
			if !ok {
				continue
			}
			if err := s.writeHookEntry(ctx, h, e.score); err != nil {
				return err
			}
			r, err := s.scripts.valueClaim.Run(ctx, s.redis, []string{s.keys.claim(h.tokenHash)}, h.claim.String())
			if err != nil {
				return fail(err)
			}
			if holder := parseClaim(reply(r).text(1)); !holder.sameHook(h.claim) {
				s.log.ErrorContext(ctx, "a failover of Redis has brought a run back whose hook has lost its token to another run; cancel one of the two",
					slog.String("run_id", e.runID), slog.String("hook_id", h.hookID), slog.String("holder", holder.runID))
			}
		}
		if cursor = next; cursor == 0 {
			return nil
		}
	}
}
