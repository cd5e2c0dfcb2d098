package streaming

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/redisfault"
)

// redisError gives a failed Redis call its code. The caller's own cancellation is returned unchanged.
func redisError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	message, passing := redisfault.Passing(err)
	if !passing {
		var reply redis.Error
		if errors.As(err, &reply) { // such as a key of another type: waiting does not help
			return world.Wrap(world.CodeInternal, err, "Redis refused a stream operation")
		}
		message = redisfault.Sentence(err)
	}
	unavailable := world.Wrap(world.CodeUnavailable, err, message+"; try again")
	unavailable.RetryAfter = 1
	return unavailable
}

func stopping() error {
	err := world.Errorf(world.CodeUnavailable, "the service is stopping")
	err.RetryAfter = 1
	return err
}

func checkName(name string) error {
	if name == "" || len(name) > world.MaxStreamName {
		return world.Errorf(world.CodeInvalid, "a stream name has 1 to %d bytes, not %d", world.MaxStreamName, len(name))
	}
	return nil
}
