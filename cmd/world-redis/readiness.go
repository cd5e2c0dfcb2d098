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
	readyFor     = time.Second      // an answer stands for the questions of the next second: anybody may ask
	readyTimeout = 2 * time.Second  // for all of it
	readyKeyLife = 10 * time.Minute // of the keys, should nobody ask again
)

// readiness says whether Redis takes writes where the queues and the lists are. A Redis whose memory is used up, or a cluster
// that lost some of its slots, answers a PING. It also says whether the data is still of our format.
type readiness struct {
	running context.Context //nolint:containedctx // it ends with the signal to stop
	client  redis.UniversalClient
	keys    []string
	// replicated: replicas are to confirm the writes, as they do those of calls.
	replicated bool
	formats    []*formatClaim
	logger     *slog.Logger

	mu    sync.Mutex // held while one asks; the others wait for the answer
	asked time.Time
	last  error
}

// newReadiness prepares one key in each slot that matters: on a cluster three a namespace, otherwise one.
func newReadiness(running context.Context, conn *redisconn.Conn, tenants []*tenant, logger *slog.Logger) *readiness {
	r := &readiness{running: running, client: conn.Client, replicated: conn.Replicas > 0, logger: logger}
	for _, t := range tenants {
		r.formats = append(r.formats, t.format)
		// The tag of a list without one is the whole key.
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

// check returns why the service cannot work now. It is false from the signal on, although the API still serves running
// deliveries: a load balancer must look elsewhere at once.
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
		return err // the caller's own impatience says nothing of Redis
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
