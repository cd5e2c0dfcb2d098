package archived

import (
	"context"
	"log/slog"
	"time"

	"github.com/world-redis/world-redis"
)

const (
	pageBytes  = 8 << 20 // of a page, as in storage
	runsAtOnce = 20      // that are read from the archive together, each of which may be large
)

// Store is a store whose ended runs may be in an archive. Writes go to Redis only; those for an archived run are refused as they are
// for a run that has ended.
type Store struct {
	world.Store // Redis
	Archive     world.Archive
	Logger      *slog.Logger
	MaxEvents   int // reported with every run, as storage does
}

var _ world.Store = (*Store)(nil)

// unavailable is the answer if the archive is needed and does not answer.
func unavailable(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	out := world.Wrap(world.CodeUnavailable, err, "The archive of runs cannot be read now; try again")
	out.RetryAfter = 1
	return out
}

// find returns a run of the archive, nil if it is not there.
func (s *Store) find(ctx context.Context, runID string, resolveNone bool) (*world.Run, error) {
	if !world.ValidID(runID) {
		return nil, nil //nolint:nilnil // as documented
	}
	runs, err := s.Archive.GetRuns(ctx, []string{runID}, resolveNone)
	if err != nil {
		return nil, unavailable(ctx, err)
	}
	if err := makeRoom(ctx, runs...); err != nil {
		return nil, err
	}
	return runs[0], nil
}

// left returns an archived run that Redis no longer has; nil for a run that is in Redis, or in neither.
func (s *Store) left(ctx context.Context, runID string) (*world.Run, error) {
	if !world.ValidID(runID) {
		return nil, nil //nolint:nilnil // as documented
	}
	if _, err := s.Store.GetRun(ctx, runID, true); world.ErrorCode(err) != world.CodeRunNotFound {
		return nil, err
	}
	return s.find(ctx, runID, true)
}

// GetRun implements world.RunStore.
func (s *Store) GetRun(ctx context.Context, runID string, resolveNone bool) (world.Run, error) {
	run, err := s.Store.GetRun(ctx, runID, resolveNone)
	return s.orArchived(ctx, runID, resolveNone, run, err)
}

// AwaitRun implements world.RunStore.
func (s *Store) AwaitRun(ctx context.Context, runID string, wait time.Duration, resolveNone bool) (world.Run, error) {
	run, err := s.Store.AwaitRun(ctx, runID, wait, resolveNone)
	return s.orArchived(ctx, runID, resolveNone, run, err)
}

func (s *Store) orArchived(ctx context.Context, runID string, resolveNone bool, run world.Run, err error) (world.Run, error) {
	if world.ErrorCode(err) != world.CodeRunNotFound {
		return run, err
	}
	found, failed := s.find(ctx, runID, resolveNone)
	switch {
	case failed != nil:
		return run, failed
	case found == nil:
		return run, err
	default:
		return *found, nil
	}
}

// GetRuns implements world.RunStore.
func (s *Store) GetRuns(ctx context.Context, runIDs []string, resolveNone bool) ([]*world.Run, error) {
	out, err := s.Store.GetRuns(ctx, runIDs, resolveNone)
	if err != nil {
		return nil, err
	}
	var missing []int
	bytes := 0
	for i, run := range out {
		if run == nil {
			missing = append(missing, i)
		} else {
			bytes += runBytes(run)
		}
	}
	for len(missing) > 0 {
		part := missing[:min(len(missing), runsAtOnce)]
		missing = missing[len(part):]
		ids := make([]string, len(part))
		for i, at := range part {
			ids[i] = runIDs[at]
		}
		found, err := s.Archive.GetRuns(ctx, ids, resolveNone)
		if err != nil {
			return nil, unavailable(ctx, err)
		}
		if err := makeRoom(ctx, found...); err != nil {
			return nil, err
		}
		for i, run := range found {
			if run == nil {
				continue
			}
			// What does not fit is left out at the end, and the caller requests it again.
			if bytes += runBytes(run); bytes > pageBytes && part[i] > 0 {
				return out[:part[i]], nil
			}
			out[part[i]] = run
		}
	}
	return out, nil
}

// CancelRuns implements world.RunStore. An archived run has ended, so it cannot be cancelled.
func (s *Store) CancelRuns(ctx context.Context, req world.CancelRuns) ([]world.CancelResult, error) {
	results, err := s.Store.CancelRuns(ctx, req)
	if err != nil {
		return results, err
	}
	var ids []string
	for _, r := range results {
		if r.Outcome == world.CancelNotFound && world.ValidID(r.RunID) {
			ids = append(ids, r.RunID)
		}
	}
	if len(ids) == 0 {
		return results, nil
	}
	found, err := s.Archive.GetRuns(ctx, ids, true)
	byID := make(map[string]*world.Run, len(found))
	for _, run := range found {
		if run != nil {
			byID[run.RunID] = run
		}
	}
	for i := range results {
		r := &results[i]
		run := byID[r.RunID]
		switch {
		case r.Outcome != world.CancelNotFound || !world.ValidID(r.RunID):
		case err != nil:
			r.Outcome, r.Code, r.Retryable = world.CancelFailed, world.CodeUnavailable, true
		case run == nil:
		case run.Status == world.RunCancelled:
			r.Outcome = world.AlreadyCancelled
		default:
			r.Outcome, r.Status = world.NotCancellable, run.Status
		}
	}
	return results, nil
}

func runBytes(r *world.Run) int {
	return len(r.Input) + len(r.Output) + len(r.Error) + len(r.ExecutionContext) + len(r.Attributes)
}

// makeRoom reserves memory for runs that were read.
func makeRoom(ctx context.Context, runs ...*world.Run) error {
	bytes := 0
	for _, r := range runs {
		if r != nil {
			bytes += runBytes(r)
		}
	}
	return world.MakeRoom(ctx, int64(bytes))
}
