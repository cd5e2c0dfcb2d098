package streaming

import (
	"context"
	"errors"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/world-redis/world-redis"
)

// redisError gives a failed Redis call its code. The caller's own cancellation stays what
// it is.
func redisError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	message := "Redis does not answer; try again"
	if strings.Contains(err.Error(), "OOM command not allowed") { // a script quotes it in an error of its own
		message = "Redis is out of memory; try again when there is room"
	} else if isPermanent(err) {
		return world.Wrap(world.CodeInternal, err, "Redis refused a stream operation")
	}
	unavailable := world.Wrap(world.CodeUnavailable, err, message)
	unavailable.RetryAfter = 1
	return unavailable
}

// isPermanent reports refusals that waiting does not mend, such as a key of another type.
func isPermanent(err error) bool {
	var reply redis.Error
	if !errors.As(err, &reply) {
		return false
	}
	for _, kind := range []string{"ERR", "WRONGTYPE", "NOPERM", "NOAUTH", "WRONGPASS"} {
		if strings.HasPrefix(reply.Error(), kind+" ") {
			return true
		}
	}
	return false
}

func stopping() error {
	err := world.Errorf(world.CodeUnavailable, "the service is stopping")
	err.RetryAfter = 1
	return err
}

func checkName(name string) error {
	if name == "" || len(name) > maxNameBytes {
		return world.Errorf(world.CodeInvalid, "a stream name has 1 to %d bytes, not %d", maxNameBytes, len(name))
	}
	return nil
}
