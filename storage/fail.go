package storage

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/world-redis/world-redis"
)

// redisTrouble lists what a Redis answers when it works but cannot serve now, and what the
// caller is told. All of them pass by themselves or by an operator's hand.
var redisTrouble = []struct{ prefix, message string }{
	{"LOADING", "Redis is loading its data; try again"},
	{"READONLY", "Redis is a read-only replica at the moment; try again"},
	{"OOM", "Redis is out of memory; try again when there is room"},
	{"CLUSTERDOWN", "The Redis cluster is down; try again"},
	{"MASTERDOWN", "The Redis master is down; try again"},
	{"TRYAGAIN", "The Redis cluster is moving data; try again"},
	{"BUSY", "Redis is busy with a script; try again"},
	{"MISCONF", "Redis cannot save its data and refuses writes; try again"},
	{"NOREPLICAS", "Redis has too few replicas and refuses writes; try again"},
	{"MOVED", "The Redis cluster is moving data; try again"},
	{"ASK", "The Redis cluster is moving data; try again"},
	{"ERR max number of clients", "Redis takes no more connections; try again"},
}

// fail turns an error of Redis into one of the contract. Errors that are one already, and a
// cancelled context, pass through.
func fail(err error) error {
	var known *world.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &known), errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, context.DeadlineExceeded):
		return unavailable(err, "Redis did not answer in time; try again")
	}
	var answer redis.Error
	if errors.As(err, &answer) {
		for _, t := range redisTrouble {
			if strings.HasPrefix(answer.Error(), t.prefix) {
				return unavailable(err, t.message)
			}
		}
		// Inside a script, a refused command is quoted in the script's own error.
		if strings.Contains(answer.Error(), "OOM command not allowed") {
			return unavailable(err, "Redis is out of memory; try again when there is room")
		}
		return world.Wrap(world.CodeInternal, err, "The storage failed")
	}
	var network net.Error
	if errors.As(err, &network) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, redis.ErrClosed) || errors.Is(err, redis.ErrPoolTimeout) || errors.Is(err, net.ErrClosed) {
		return unavailable(err, "Redis is not reachable; try again")
	}
	return world.Wrap(world.CodeInternal, err, "The storage failed")
}

func unavailable(cause error, message string) error {
	e := world.Wrap(world.CodeUnavailable, cause, message)
	e.RetryAfter = 1
	return e
}
