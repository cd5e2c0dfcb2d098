package main

import (
	"context"

	"github.com/world-redis/world-redis/embedded"
	"github.com/world-redis/world-redis/internal/redisconn"
	"github.com/world-redis/world-redis/queue"
	"github.com/world-redis/world-redis/setup"
)

// depths asks the queue package, which alone knows how asynq keeps messages. The queue is
// not run, so its deliverer never delivers.
func depths(ctx context.Context, conn *redisconn.Conn, keyPrefix, jobPrefix string) ([]setup.QueueDepth, error) {
	q, err := queue.New(ctx, conn.Client, queue.Config{
		KeyPrefix: keyPrefix, JobPrefix: jobPrefix, Deliverer: embedded.New(embedded.Config{}),
	})
	if err != nil {
		return nil, err
	}
	found, err := q.Depths(ctx)
	if err != nil {
		return nil, err
	}
	list := make([]setup.QueueDepth, 0, len(found))
	for _, d := range found {
		list = append(list, setup.QueueDepth{
			Queue: d.Queue, Pending: d.Pending, Active: d.Active, Scheduled: d.Scheduled,
			Retry: d.Retry, Stalled: d.Stalled, Dead: d.Dead,
		})
	}
	return list, nil
}
