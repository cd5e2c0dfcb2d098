package main

import (
	"context"
	"log/slog"

	"golang.org/x/sync/errgroup"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/embedded"
	"github.com/world-redis/world-redis/httpapi"
	"github.com/world-redis/world-redis/internal/redisconn"
	"github.com/world-redis/world-redis/queue"
	"github.com/world-redis/world-redis/storage"
	"github.com/world-redis/world-redis/streaming"
)

// tenant is one namespace with the parts that hold its data. Only the Redis is common: its
// keys, its queues and its deliveries are its own.
type tenant struct {
	namespace
	store   *storage.Store
	streams *streaming.Service
	queue   *queue.Queue
}

func newTenant(ctx context.Context, conn *redisconn.Conn, c config, n namespace, clock world.Clock, logger *slog.Logger) (*tenant, error) {
	if n.name != "" {
		logger = logger.With(slog.String("namespace", n.name))
	}
	t := &tenant{namespace: n}
	var err error
	if t.store, err = storage.New(ctx, conn.Client, storage.Config{Prefix: n.keyPrefix, Clock: clock, Logger: logger}); err != nil {
		return nil, err
	}
	if t.streams, err = streaming.New(ctx, conn.Client, streaming.Config{Prefix: n.keyPrefix, Clock: clock, Logger: logger}); err != nil {
		return nil, err
	}
	t.queue, err = queue.New(ctx, conn.Client, queue.Config{
		KeyPrefix: n.keyPrefix, JobPrefix: n.jobPrefix, FlowConcurrency: c.FlowConcurrency, StepConcurrency: c.StepConcurrency,
		ShutdownGrace: c.ShutdownGrace, BaseURL: n.baseURL, Clock: clock, Logger: logger,
		Deliverer: embedded.New(embedded.Config{Logger: logger, SigningKeys: n.signingKeys, Clock: clock}),
	})
	return t, err
}

func newTenants(ctx context.Context, conn *redisconn.Conn, c config, clock world.Clock, logger *slog.Logger) ([]*tenant, error) {
	namespaces, err := c.namespaces()
	if err != nil {
		return nil, err
	}
	tenants := make([]*tenant, 0, len(namespaces))
	for _, n := range namespaces {
		t, err := newTenant(ctx, conn, c, n, clock, logger)
		if err != nil {
			return nil, err
		}
		tenants = append(tenants, t)
	}
	return tenants, nil
}

// deps are what the API needs of a namespace.
func (t *tenant) deps() httpapi.Deps {
	return httpapi.Deps{Store: t.store, Queue: t.queue, Apps: t.queue, Streams: t.streams}
}

// forAPI are the namespaces beside the default one, which is the first.
func forAPI(tenants []*tenant) []httpapi.Namespace {
	var out []httpapi.Namespace
	for _, t := range tenants[1:] {
		out = append(out, httpapi.Namespace{Name: t.name, Tokens: t.tokens, Deps: t.deps()})
	}
	return out
}

// together runs one part of every tenant until all have ended; one that fails ends the rest.
func together(tenants []*tenant, run func(*tenant, context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		g, ctx := errgroup.WithContext(ctx)
		for _, t := range tenants {
			g.Go(func() error { return run(t, ctx) })
		}
		return g.Wait()
	}
}
