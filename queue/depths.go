package queue

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/redis/go-redis/v9"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/redisfault"
)

// Depth is how many messages a queue holds, by state.
type Depth = world.QueueDepth

// oldestOf is how many of the next messages are searched for the oldest one: released messages
// are at the front although they are younger.
const oldestOf = 16

// QueueDepths implements world.QueueAdmin.
func (q *Queue) QueueDepths(ctx context.Context) ([]Depth, error) { return q.Depths(ctx) }

// Depths returns how many messages the queues hold: flows, then steps.
func (q *Queue) Depths(ctx context.Context) ([]Depth, error) {
	pipe := q.redis.Pipeline()
	var counts [][8]*redis.IntCmd
	var fronts []*redis.StringSliceCmd
	for _, w := range q.workers() {
		k := &w.Keys
		counts = append(counts, [8]*redis.IntCmd{
			pipe.LLen(ctx, k.Pending), pipe.LLen(ctx, k.Active), pipe.ZCard(ctx, k.Scheduled),
			pipe.ZCard(ctx, k.Retry), pipe.SCard(ctx, k.WaitingForApp), pipe.ZCard(ctx, k.Archived),
			pipe.ZCard(ctx, k.Completed), pipe.Exists(ctx, k.Paused),
		})
		fronts = append(fronts, pipe.LRange(ctx, k.Pending, -oldestOf, -1))
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, unreadable(fmt.Errorf("queue depths: %w", err))
	}
	depths := make([]Depth, 0, len(counts))
	for i, w := range q.workers() {
		c := counts[i]
		oldest, err := w.oldest(ctx, fronts[i].Val())
		if err != nil {
			return nil, unreadable(err)
		}
		depths = append(depths, Depth{
			Kind: w.Kind, Queue: w.Name, Pending: c[0].Val(), Active: c[1].Val(), Scheduled: c[2].Val(),
			Retry: c[3].Val(), WaitingForApp: c[4].Val(), Dead: c[5].Val(), Completed: c[6].Val(), Paused: c[7].Val() > 0, Oldest: oldest,
		})
	}
	return depths, nil
}

// oldest returns since when the oldest of these messages has been pending.
func (w *worker) oldest(ctx context.Context, ids []string) (world.Millis, error) {
	if len(ids) == 0 {
		return 0, nil
	}
	pipe := w.q.redis.Pipeline()
	since := make([]*redis.StringCmd, len(ids))
	for i, id := range ids {
		since[i] = pipe.HGet(ctx, w.Keys.Task+id, "pending_since")
	}
	if _, err := pipe.Exec(ctx); err != nil && !errors.Is(err, redis.Nil) {
		return 0, fmt.Errorf("oldest message: %w", err)
	}
	oldest := world.Millis(0)
	for i, id := range ids {
		at := enqueuedAt(id)
		if ns, err := strconv.ParseInt(since[i].Val(), 10, 64); err == nil {
			at = world.Millis(ns / 1e6)
		}
		if at != 0 && (oldest == 0 || at < oldest) {
			oldest = at
		}
	}
	return oldest, nil
}

// unreadable is the error when the queues cannot be read from Redis.
func unreadable(err error) error {
	return world.Wrap(world.CodeUnavailable, err, "the queues could not be read: "+redisfault.Sentence(err))
}
