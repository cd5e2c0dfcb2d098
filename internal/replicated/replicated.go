// Package replicated marks the calls whose writes are acknowledged only once replicas of Redis have them. The mark travels in
// the context of a call; the hook that internal/redisconn puts into a client reads it there, and waits.
package replicated

import (
	"context"
	"errors"
	"fmt"
)

type wantedKey struct{}

// Wanted marks a call: what it writes is acknowledged when replicas have it.
func Wanted(ctx context.Context) context.Context { return context.WithValue(ctx, wantedKey{}, true) }

// NotWanted takes the mark off, for what changes nothing or need not last.
func NotWanted(ctx context.Context) context.Context {
	if !IsWanted(ctx) {
		return ctx
	}
	return context.WithValue(ctx, wantedKey{}, false)
}

// IsWanted reports whether a call is marked.
func IsWanted(ctx context.Context) bool {
	wanted, _ := ctx.Value(wantedKey{}).(bool)
	return wanted
}

// Error is the error of a write that the master has carried out, and that too few replicas have confirmed in time. The call is
// to be repeated under its request id: the repeat changes nothing and waits again.
type Error struct {
	Confirmed, Wanted int   // replicas
	Cause             error // why nothing is known of the replicas; nil: Confirmed is what is known
}

// Error implements error.
func (e *Error) Error() string {
	if e.Cause != nil {
		return fmt.Sprintf("the write is not confirmed by %d replicas: %v", e.Wanted, e.Cause)
	}
	return fmt.Sprintf("%d of %d replicas confirmed the write", e.Confirmed, e.Wanted)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// Missing reports whether an error says that a write was carried out, but is not confirmed by replicas.
func Missing(err error) bool {
	var e *Error
	return errors.As(err, &e)
}
