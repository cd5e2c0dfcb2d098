package archived

import (
	"context"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/cursor"
)

// GetStep implements world.StepStore.
func (s *Store) GetStep(ctx context.Context, runID, stepID string, resolveNone bool) (world.Step, error) {
	step, err := s.Store.GetStep(ctx, runID, stepID, resolveNone)
	if world.ErrorCode(err) != world.CodeStepNotFound {
		return step, err
	}
	holder, failed := s.holderOf(ctx, runID, stepID)
	if failed != nil {
		return step, failed
	}
	if holder == "" {
		return step, err
	}
	found, failed := s.findStep(ctx, holder, stepID, resolveNone)
	switch {
	case failed != nil:
		return step, failed
	case found == nil:
		return step, err
	default:
		return *found, nil
	}
}

// holderOf returns the archived run that has a step, or may have it if the run is given; "" if there is none.
func (s *Store) holderOf(ctx context.Context, runID, stepID string) (string, error) {
	if runID == "" {
		located, err := s.Archive.FindStep(ctx, stepID)
		if err != nil {
			return "", unavailable(ctx, err)
		}
		return located, nil
	}
	run, err := s.left(ctx, runID)
	if err != nil || run == nil {
		return "", err
	}
	return runID, nil
}

// findStep returns a step of an archived run, nil if there is none.
func (s *Store) findStep(ctx context.Context, runID, stepID string, resolveNone bool) (*world.Step, error) {
	for part, err := range s.Archive.Parts(ctx, runID, world.ArchivedParts{Kind: world.PartSteps, ResolveNone: resolveNone}) {
		if err != nil {
			return nil, unavailable(ctx, err)
		}
		if part.Step.StepID == stepID {
			return part.Step, world.MakeRoom(ctx, stepBytes(part.Step))
		}
	}
	return nil, nil //nolint:nilnil // as documented
}

func stepBytes(s *world.Step) int64 { return int64(len(s.Input) + len(s.Output) + len(s.Error)) }

// ListSteps implements world.StepStore. An unknown run has no steps, so a page without any may be one of an archived run.
func (s *Store) ListSteps(ctx context.Context, q world.StepQuery) (world.Page[world.Step], error) {
	page, err := s.Store.ListSteps(ctx, q)
	if err != nil || len(page.Data) > 0 || page.HasMore {
		return page, err
	}
	run, err := s.left(ctx, q.RunID)
	if err != nil || run == nil {
		return page, err
	}
	scope, limit := "steps/"+q.RunID, min(q.Page.Limit, world.MaxPage)
	if limit <= 0 {
		limit = defaultLimit
	}
	order := q.Page.Order
	if order == "" {
		order = world.Descending
	}
	var after *cursor.Place
	if q.Page.Cursor != "" {
		place, err := cursor.OpenPlace(scope, q.Page.Cursor)
		if err != nil {
			return page, err
		}
		after = &place
	}
	fill := filler[world.Step]{ctx: ctx, limit: limit, page: world.Page[world.Step]{Data: []world.Step{}}}
	want := world.ArchivedParts{Kind: world.PartSteps, Backwards: order == world.Descending, ResolveNone: q.ResolveNone}
	for part, err := range s.Archive.Parts(ctx, q.RunID, want) {
		if err != nil {
			return page, unavailable(ctx, err)
		}
		place := cursor.Place{MS: part.Step.CreatedAt, ID: part.Step.StepID}
		if after != nil && !place.ComesAfter(*after, order) {
			continue
		}
		if full, err := fill.add(*part.Step, stepBytes(part.Step), func() string { return place.Cursor(scope) }); full || err != nil {
			return fill.page, err
		}
	}
	return fill.page, nil
}

// filler fills a page up to its limits.
type filler[T any] struct {
	ctx   context.Context
	limit int
	bytes int64
	page  world.Page[T]
}

// add adds an item, or reports that the page is full without it.
func (f *filler[T]) add(item T, bytes int64, place func() string) (full bool, err error) {
	if len(f.page.Data) == f.limit || len(f.page.Data) > 0 && f.bytes+bytes > pageBytes {
		f.page.HasMore = true
		return true, nil
	}
	if err := world.MakeRoom(f.ctx, bytes); err != nil {
		return false, err
	}
	f.bytes += bytes
	f.page.Data, f.page.Cursor = append(f.page.Data, item), place()
	return false, nil
}
