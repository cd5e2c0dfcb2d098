package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// dataFormat names the form of everything that this build keeps in Redis: keys, records, messages,
// scripts that share them. It changes with each change that an older or a newer build at
// the same store would not understand, and with no other: replicas of one format may run side by side, so
// that a rolling upgrade is one without downtime.
const dataFormat = "2"

// claimFormat marks a namespace's data as of our format, or fails when it is of another one: two
// formats in one log would be found out by runs that die (BR-01).
func claimFormat(ctx context.Context, client redis.UniversalClient, prefix string) error {
	key := formatKey(prefix)
	found, err := client.Get(ctx, key).Result()
	if errors.Is(err, redis.Nil) { // a Redis that is full refuses writes, and its service must start all the same
		if err = client.SetNX(ctx, key, dataFormat, 0).Err(); err == nil {
			found, err = client.Get(ctx, key).Result()
		}
	}
	if err != nil {
		return fmt.Errorf("format of the data: %w", err)
	}
	if found != dataFormat {
		return fmt.Errorf("the data under the prefix %q is of format %.20q (key %s), and this build of world-redis knows format %s only: "+
			"run the build that wrote it, or give this one a prefix of its own (WORKFLOW_REDIS_KEY_PREFIX)", prefix, found, key, dataFormat)
	}
	return nil
}

func formatKey(prefix string) string { return prefix + "format" }
