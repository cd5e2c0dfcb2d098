package runindex

import (
	"context"
	"log/slog"

	"github.com/redis/go-redis/v9"

	"github.com/world-redis/world-redis"
)

// Correct compares an entry that was written for a call that was then refused with the run, and removes what is not true. What
// fails here is mended by the sweeper.
func (x *Index) Correct(ctx context.Context, e Entry) {
	run, found, err := x.Peek(ctx, e.RunID)
	switch {
	case err != nil:
	case !found:
		err = x.Drop(ctx, e)
	case run.Status.Terminal():
		// The call that ended it may have broken off, and this entry may be all that the sweeper has.
		if err = x.Settle(ctx, run, e); err == nil {
			err = x.removeUntrue(ctx, run, e)
		}
	default:
		err = x.removeUntrue(ctx, run, e)
	}
	if err != nil {
		x.Log.InfoContext(ctx, "an entry in the lists of runs is left for the sweeper",
			slog.String("run_id", e.RunID), slog.Any("error", err))
	}
}

// removeUntrue removes the parts of an entry that are not true of the run.
func (x *Index) removeUntrue(ctx context.Context, run world.Run, e Entry) error {
	_, err := x.Redis.Pipelined(ctx, func(p redis.Pipeliner) error {
		if run.Status != e.Status {
			p.ZRem(ctx, x.Keys.ByStatus(e.Status), e.RunID)
		}
		if e.Name != "" && run.WorkflowName != e.Name {
			p.ZRem(ctx, x.Keys.ByName(e.Name), e.RunID)
		}
		return nil
	})
	return err
}

// Withdraw undoes Enter for a run that was not found. It may be created and started at this very time: then it needs the entry,
// and if not, the next look at the run removes it.
func (x *Index) Withdraw(ctx context.Context, e Entry) {
	_, err := x.Redis.Pipelined(ctx, func(p redis.Pipeliner) error {
		if e.Status.Terminal() {
			p.ZRem(ctx, x.Keys.ByStatus(e.Status), e.RunID)
		} else {
			x.Watch(ctx, p, e.RunID)
		}
		return nil
	})
	if err != nil {
		x.logStale(ctx, e.RunID, err)
	}
}

func (x *Index) logStale(ctx context.Context, runID string, err error) {
	x.Log.InfoContext(ctx, "stale run-index entry not removed; the sweeper or a reader removes it", slog.String("run_id", runID), slog.Any("error", err))
}

// DropUncreated drops a run that was never created, and reports whether a crash left its entries. Only the call that creates a
// run enters it into the list of all, so there it is after a crash. Otherwise there was a call for a run that does not exist.
func (x *Index) DropUncreated(ctx context.Context, e Entry) (crashed bool, err error) {
	scores, err := x.Redis.ZMScore(ctx, x.Keys.All(), e.RunID).Result()
	if err != nil {
		return false, err
	}
	// Its entry in the list of its workflow is removed by the next reader of that list: the name is not known here.
	return scores[0] != 0, x.Drop(ctx, e)
}

// Drop takes a run that does not exist off the lists, and puts it back if it was created meanwhile.
func (x *Index) Drop(ctx context.Context, e Entry) error {
	_, err := x.Redis.Pipelined(ctx, func(p redis.Pipeliner) error {
		p.ZRem(ctx, x.Keys.All(), e.RunID)
		p.ZRem(ctx, x.Keys.ByName(e.Name), e.RunID)
		for _, status := range Statuses {
			p.ZRem(ctx, x.Keys.ByStatus(status), e.RunID)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return x.putBack(ctx, e)
}

// putBack enters a run that was taken off as one that does not exist, if it does.
func (x *Index) putBack(ctx context.Context, e Entry) error {
	run, found, err := x.Peek(ctx, e.RunID)
	if err != nil || !found {
		return err
	}
	return x.enterAsIs(ctx, run, e.Score)
}
