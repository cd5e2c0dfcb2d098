package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/world-redis/world-redis"
)

// formatEvery lies between two looks whether the format still stands in Redis.
const formatEvery = 15 * time.Second

// dataFormat names the form of everything that this build keeps in Redis: keys, records, messages,
// scripts that share them. It changes with each change that an older or a newer build at
// the same store would not understand, and with no other: replicas of one format may run side by side, so
// that a rolling upgrade is one without downtime.
const dataFormat = "2"

// formatClaim keeps a namespace's data marked as of our format. Two formats in one log would be found out by runs
// that die (BR-01), so a claim fails when another format stands there.
type formatClaim struct {
	client redis.UniversalClient
	prefix string
	every  time.Duration // between two looks of Run
	logger *slog.Logger
}

// otherFormatError says that the data is of another format: nothing may be written to it.
type otherFormatError struct{ error }

// claim writes our format where none stands. It never overwrites one, so of two builds that claim an empty Redis at
// once one fails. Any error but otherFormatError is Redis's, and says nothing of the format.
func (f *formatClaim) claim(ctx context.Context) (wrote bool, err error) {
	key := formatKey(f.prefix)
	found, err := f.client.Get(ctx, key).Result()
	if errors.Is(err, redis.Nil) { // a Redis that is full refuses writes, and its service must start all the same
		if wrote, err = f.client.SetNX(ctx, key, dataFormat, 0).Result(); err == nil {
			found, err = f.client.Get(ctx, key).Result()
		}
	}
	if err != nil {
		return wrote, fmt.Errorf("format of the data: %w", err)
	}
	if found != dataFormat {
		return wrote, otherFormatError{fmt.Errorf("the data under the prefix %q is of format %.20q (key %s), and this build of world-redis knows format %s only: "+
			"run the build that wrote it, or give this one a prefix of its own (WORKFLOW_REDIS_KEY_PREFIX)", f.prefix, found, key, dataFormat)}
	}
	return wrote, nil
}

// keep claims the format again in a running service: FLUSHALL and a Redis that lost its data take the key along, and
// a build of another format would start on the data that we go on writing.
func (f *formatClaim) keep(ctx context.Context) error {
	wrote, err := f.claim(ctx)
	if wrote {
		f.logger.WarnContext(ctx, "Redis lost the key of the data format, and perhaps the data, too; the key is written again", slog.String("key", formatKey(f.prefix)))
	}
	return err
}

// Run keeps the format until ctx ends. A build of another format that claimed the empty Redis first ends this service:
// what the two write would be mixed.
func (f *formatClaim) Run(ctx context.Context) error {
	ticker := time.NewTicker(f.every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		var other otherFormatError
		if err := f.keep(ctx); errors.As(err, &other) {
			return err
		}
	}
}

// ready is keep for readiness: it fails for another format only.
func (f *formatClaim) ready(ctx context.Context) error {
	var other otherFormatError
	if err := f.keep(ctx); errors.As(err, &other) {
		f.logger.ErrorContext(ctx, "the service is not ready, and stops: a build with another format writes to its data", slog.Any("error", err))
		return world.Wrap(world.CodeUnavailable, err, "the data in Redis has another format")
	}
	return nil
}

func formatKey(prefix string) string { return prefix + "format" }
