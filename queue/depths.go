package queue

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/world-redis/world-redis"
)

// Depth is how many messages a queue holds, by state.
type Depth struct {
	Kind      world.Kind
	Queue     string // its name in asynq
	Pending   int64  // to be delivered now
	Active    int64  // being delivered
	Scheduled int64  // delayed before their first delivery
	Retry     int64  // delayed before another delivery
	Stalled   int64  // those of Retry that wait for an app
	Dead      int64  // set aside as undeliverable
}

// Depths returns how full the queues are: flows, then steps.
func (q *Queue) Depths(ctx context.Context) ([]Depth, error) {
	pipe := q.redis.Pipeline()
	var counts [][6]*redis.IntCmd
	for _, l := range q.lanes() {
		k := &l.keys
		counts = append(counts, [6]*redis.IntCmd{
			pipe.LLen(ctx, k.pending), pipe.LLen(ctx, k.active), pipe.ZCard(ctx, k.scheduled),
			pipe.ZCard(ctx, k.retry), pipe.SCard(ctx, k.stalled), pipe.ZCard(ctx, k.archived),
		})
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, world.Wrap(world.CodeUnavailable, fmt.Errorf("queue depths: %w", err), "the queues could not be read: Redis does not answer")
	}
	depths := make([]Depth, 0, len(counts))
	for i, l := range q.lanes() {
		c := counts[i]
		depths = append(depths, Depth{
			Kind: l.kind, Queue: l.name, Pending: c[0].Val(), Active: c[1].Val(), Scheduled: c[2].Val(),
			Retry: c[3].Val(), Stalled: c[4].Val(), Dead: c[5].Val(),
		})
	}
	return depths, nil
}
