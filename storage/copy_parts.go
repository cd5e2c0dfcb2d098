package storage

import (
	"context"
	"errors"
	"iter"

	"github.com/world-redis/world-redis"
)

// errStopped ends the walk of a copy that is not iterated any further.
var errStopped = errors.New("stopped")

// parts yields the parts of a copy.
func (c *copying) parts(ctx context.Context) iter.Seq2[world.RunPart, error] {
	return func(yield func(world.RunPart, error) bool) {
		err := c.failed
		if err == nil {
			err = c.walk(ctx, func(part world.RunPart) error {
				if !yield(part, nil) {
					return errStopped
				}
				return nil
			})
		}
		if err != nil && !errors.Is(err, errStopped) {
			yield(world.RunPart{}, &world.CopyError{RunID: c.runID, Err: err})
		}
	}
}

type partSink func(world.RunPart) error

// walk calls sink with each part.
func (c *copying) walk(ctx context.Context, sink partSink) error {
	state := newLogState()
	err := c.eachEvent(ctx, func(position int, e *world.Event) error {
		if !c.legacy {
			state.add(position, e)
		}
		return sink(world.RunPart{Event: e})
	})
	if err != nil {
		return err
	}
	if c.legacy {
		err = c.legacySteps(ctx, sink)
	} else {
		err = c.steps(ctx, state, sink)
	}
	if err != nil {
		return err
	}
	return c.eachHook(ctx, state, sink)
}

// eachEvent calls f with each event of the log, as it was at the moment of the copy.
func (c *copying) eachEvent(ctx context.Context, f func(position int, e *world.Event) error) error {
	for i := range c.first {
		if err := f(i, &c.first[i]); err != nil {
			return err
		}
	}
	w := logWalk{store: c.store, q: world.EventQuery{RunID: c.runID}}
	for next := len(c.first); next < c.total; {
		chunk, err := w.chunk(ctx, next, min(pageChunk, c.total-next), pageBytes, "")
		if err != nil {
			return err
		}
		if len(chunk.events) == 0 {
			return world.Errorf(world.CodeRunNotFound, "it was removed meanwhile")
		}
		for i := range chunk.events {
			if err := f(next, &chunk.events[i]); err != nil {
				return err
			}
			next++
		}
	}
	return nil
}

// legacySteps calls sink with the steps of a run of spec 1, which have no events.
func (c *copying) legacySteps(ctx context.Context, sink partSink) error {
	q := world.StepQuery{RunID: c.runID, Page: world.PageRequest{Limit: maxLimit, Order: world.Ascending}}
	for {
		page, err := c.store.ListSteps(ctx, q)
		if err != nil {
			return err
		}
		for i := range page.Data {
			if err := sink(world.RunPart{Step: &page.Data[i]}); err != nil {
				return err
			}
		}
		if !page.HasMore {
			return nil
		}
		q.Page.Cursor = page.Cursor
	}
}
