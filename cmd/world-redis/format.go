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

// formatEvery is the time between two checks of the format in Redis.
const formatEvery = 15 * time.Second

// dataFormat is the version of everything that this build stores in Redis: keys, records, messages, and the scripts
// that share them. It changes only with a change that an older or newer build on the same data would not understand.
// Replicas with the same format may run side by side, so a rolling upgrade needs no downtime.
const dataFormat = "2"

// formatClaim keeps a namespace's data marked with our format. Two formats in one log would make runs fail (BR-01),
// so a claim fails if Redis has another format.
type formatClaim struct {
	client redis.UniversalClient
	prefix string
	every  time.Duration // between two checks of Run
	logger *slog.Logger
}

// otherFormatError means that the data has another format: nothing may be written to it.
type otherFormatError struct{ error }

// claim writes our format if Redis has none. It never overwrites one, so if two builds claim an empty Redis at the
// same time, one fails. Any error other than otherFormatError comes from Redis and says nothing about the format.
func (f *formatClaim) claim(ctx context.Context) (wrote bool, err error) {
	key := formatKey(f.prefix)
	found, err := f.client.Get(ctx, key).Result()
	if errors.Is(err, redis.Nil) { // a full Redis refuses writes, and its service must still start
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

// keep claims the format again while the service runs. FLUSHALL, or a Redis that lost its data, removes the key, and
// a build with another format could start on the data that this service continues to write.
func (f *formatClaim) keep(ctx context.Context) error {
	wrote, err := f.claim(ctx)
	if wrote {
		f.logger.WarnContext(ctx, "Redis lost the key of the data format, and perhaps the data, too; the key is written again", slog.String("key", formatKey(f.prefix)))
	}
	return err
}

// Run keeps the format until ctx ends. If a build with another format claimed the empty Redis first, the service
// stops, because the two would mix their data.
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

// ready is keep for the readiness check. It fails only for another format.
func (f *formatClaim) ready(ctx context.Context) error {
	var other otherFormatError
	if err := f.keep(ctx); errors.As(err, &other) {
		f.logger.ErrorContext(ctx, "the service is not ready, and stops: a build with another format writes to its data", slog.Any("error", err))
		return world.Wrap(world.CodeUnavailable, err, "the data in Redis has another format")
	}
	return nil
}

func formatKey(prefix string) string { return prefix + "format" }
