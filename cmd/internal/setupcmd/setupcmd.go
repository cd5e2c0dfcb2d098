// Package setupcmd wires the setup command, which is a program of its own and a subcommand of world-redis.
package setupcmd

import (
	"context"
	"os"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"

	"github.com/world-redis/world-redis/embedded"
	"github.com/world-redis/world-redis/internal/redisconn"
	"github.com/world-redis/world-redis/queue"
	"github.com/world-redis/world-redis/setup"
)

// New returns the command, named use. It turns go-redis's own log off, because the command reports problems itself.
func New(use string) *cobra.Command {
	redis.SetLogger(quiet{})
	cmd := setup.NewCommand(setup.Environment{Getenv: os.Getenv, Depths: depths, Replicas: replicas})
	cmd.Use = use
	return cmd
}

type quiet struct{}

func (quiet) Printf(context.Context, string, ...any) {}

// open returns a queue that does not run, so its deliverer is never called.
func open(ctx context.Context, conn *redisconn.Conn, keyPrefix, jobPrefix string) (*queue.Queue, error) {
	return queue.New(ctx, conn.Client, queue.Config{
		KeyPrefix: keyPrefix, JobPrefix: jobPrefix, Deliverer: embedded.New(embedded.Config{}),
	})
}

// replicas reads which replicas are alive.
func replicas(ctx context.Context, conn *redisconn.Conn, keyPrefix, jobPrefix string) ([]setup.Replica, error) {
	q, err := open(ctx, conn, keyPrefix, jobPrefix)
	if err != nil {
		return nil, err
	}
	found, err := q.Replicas(ctx)
	if err != nil {
		return nil, err
	}
	list := make([]setup.Replica, 0, len(found))
	for _, r := range found {
		list = append(list, setup.Replica{Host: r.Host, PID: r.PID, Version: r.Version, Older: r.Knows < queue.KnowsRemovals})
	}
	return list, nil
}

// depths reads the depths through the queue package, which alone knows how asynq stores messages.
func depths(ctx context.Context, conn *redisconn.Conn, keyPrefix, jobPrefix string) ([]setup.QueueDepth, error) {
	q, err := open(ctx, conn, keyPrefix, jobPrefix)
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
			Retry: d.Retry, WaitingForApp: d.WaitingForApp, Dead: d.Dead,
		})
	}
	return list, nil
}
