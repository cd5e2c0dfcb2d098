package storage

import (
	"context"
	"errors"
	"strings"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/redisfault"
)

// fail turns an error of Redis into one of the contract. Errors that are one already, and a
// cancelled context, pass through.
func fail(err error) error {
	var known *world.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &known), errors.Is(err, context.Canceled):
		return err
	}
	if sentence, ok := redisfault.Passing(err); ok {
		return unavailable(err, upper(sentence)+"; try again")
	}
	return world.Wrap(world.CodeInternal, err, "The storage failed")
}

// upper makes a sentence begin with a capital letter, as all of the storage's do.
func upper(sentence string) string { return strings.ToUpper(sentence[:1]) + sentence[1:] }

func unavailable(cause error, message string) error {
	e := world.Wrap(world.CodeUnavailable, cause, message)
	e.RetryAfter = 1
	return e
}
