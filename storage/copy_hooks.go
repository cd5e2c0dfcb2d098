package storage

import (
	"context"
	"maps"
	"slices"
	"strconv"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/storage/internal/record"
)

// eventless is the position of a hook without an event.
const eventless = -1

// eachHook calls sink with the hooks: those of the log if the run goes on, otherwise those that keep their tokens.
func (c *copying) eachHook(ctx context.Context, state *logState, sink partSink) error {
	switch {
	case c.hooks == 0:
		return nil
	case c.legacy, c.ended:
		return c.listedHooks(ctx, state, sink)
	}
	positions := slices.Sorted(maps.Values(state.hooks))
	return c.hooksAt(ctx, positions, sink)
}

func (c *copying) listedHooks(ctx context.Context, state *logState, sink partSink) error {
	q := world.HookQuery{RunID: c.runID, Page: world.PageRequest{Limit: maxLimit, Order: world.Ascending}}
	for {
		page, err := c.store.ListHooks(ctx, q)
		if err != nil {
			return err
		}
		for _, hook := range page.Data {
			position, ok := state.made[hook.HookID]
			if !ok {
				position = eventless
			}
			if err := sink(world.RunPart{Hook: &world.HookCopy{Hook: hook, Position: int64(position)}}); err != nil {
				return err
			}
		}
		if !page.HasMore {
			return nil
		}
		q.Page.Cursor = page.Cursor
	}
}

// hooksAt calls sink with the hooks of these hook_created events.
func (c *copying) hooksAt(ctx context.Context, positions []int, sink partSink) error {
	for _, position := range positions {
		var e world.Event
		if position < len(c.first) {
			e = c.first[position]
		} else {
			found, err := c.store.eventAt(ctx, c.runID, position)
			if err != nil {
				return err
			}
			e = found
		}
		hook := &world.HookCopy{Hook: record.HookOf(e, false), Position: int64(position)}
		if err := sink(world.RunPart{Hook: hook}); err != nil {
			return err
		}
	}
	return nil
}

// eventAt reads the event at a position of a log.
func (s *Store) eventAt(ctx context.Context, runID string, position int) (world.Event, error) {
	refs := []reference{{position: strconv.Itoa(position)}}
	replies, err := s.runMany(ctx, s.scripts.eventRead, s.readsOf(runID, refs))
	if err != nil {
		return world.Event{}, err
	}
	var m measure
	if err := m.measureRefs(s.keys.of(runID).events(), refs, replies); err != nil {
		return world.Event{}, err
	}
	if refs[0].reply == nil {
		return world.Event{}, world.Errorf(world.CodeRunNotFound, "it was removed meanwhile")
	}
	if err := s.fill(ctx, m.gaps); err != nil {
		return world.Event{}, err
	}
	e, err := record.Decode(runID, position, refs[0].reply.Text(1), refs[0].reply.Bytes(2))
	return e, fail(err)
}
