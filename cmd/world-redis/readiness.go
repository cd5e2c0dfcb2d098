package main

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/redisconn"
	"github.com/world-redis/world-redis/internal/redisfault"
	"github.com/world-redis/world-redis/internal/replicated"
)

const (
	readyFor     = time.Second      // an answer is reused for a second, since anybody may ask
	readyTimeout = 2 * time.Second  // for the whole check
	readyKeyLife = 10 * time.Minute // of the keys, if nobody asks again
)

// readiness checks whether Redis accepts writes for the queues and the lists. A Redis that is out of memory, or a
// cluster that lost some of its slots, still answers PING. It also checks that the data still has our format.
type readiness struct {
	running context.Context //nolint:containedctx // ends with the signal to stop
	client  redis.UniversalClient
	keys    []string
	// replicated means that replicas confirm these writes, as they do those of calls.
	replicated bool
	formats    []*formatClaim
	logger     *slog.Logger

	mu    sync.Mutex // held during a check; other callers wait for its result
	asked time.Time
	last  error
}

// newReadiness prepares one key in each slot that matters: three per namespace on a cluster, otherwise one.
func newReadiness(running context.Context, conn *redisconn.Conn, tenants []*tenant, logger *slog.Logger) *readiness {
	r := &readiness{running: running, client: conn.Client, replicated: conn.Replicas > 0, logger: logger}
	for _, t := range tenants {
		r.formats = append(r.formats, t.format)
		// The hash tag of a list without braces is the whole key.
		tags := []string{t.keyPrefix + "runs:index", t.jobPrefix + "flows", t.jobPrefix + "steps"}
		for _, tag := range tags {
			r.keys = append(r.keys, t.keyPrefix+"ready:{"+tag+"}")
		}
	}
	if conn.Mode != redisconn.Cluster {
		r.keys = r.keys[:1]
	}
	return r
}

// check returns why the service cannot work now. After the signal to stop it fails, although the API still serves
// running deliveries: a load balancer must use another replica immediately.
func (r *readiness) check(ctx context.Context) error {
	if r.running.Err() != nil {
		return errors.New("the service is stopping")
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.asked.IsZero() && time.Since(r.asked) < readyFor {
		return r.last
	}
	err := r.ask(ctx)
	if err != nil && ctx.Err() != nil {
		return err // the caller's own cancellation says nothing about Redis
	}
	r.asked, r.last = time.Now(), err
	return err
}

func (r *readiness) ask(ctx context.Context) error {
	probe, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	written := strconv.FormatInt(time.Now().UnixMilli(), 10)
	if r.replicated {
		probe = replicated.Wanted(probe)
	}
	_, err := r.client.Pipelined(probe, func(p redis.Pipeliner) error {
		for _, key := range r.keys {
			p.Set(probe, key, written, readyKeyLife)
			p.Get(probe, key)
		}
		return nil
	})
	if err != nil {
		r.logger.Warn("Redis does not accept writes, so the service is not ready; see docs/operations.md", slog.Any("error", err))
		return world.Wrap(world.CodeUnavailable, err, redisfault.Sentence(err))
	}
	for _, format := range r.formats {
		if err := format.ready(probe); err != nil {
			return err
		}
	}
	return nil
}
