// Package replicated marks calls whose writes are acknowledged only once replicas of Redis have them. The mark is in
// the call's context. A hook of internal/redisconn in the client reads it and waits.
package replicated

import (
	"context"
	"errors"
	"fmt"
)

type wantedKey struct{}

// Wanted marks a call: its writes are acknowledged once replicas have them.
func Wanted(ctx context.Context) context.Context { return context.WithValue(ctx, wantedKey{}, true) }

// NotWanted removes the mark, for calls that change nothing or need not last.
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

// Error is the error of a write that the master carried out and that too few replicas confirmed in time. The caller
// repeats the call under its request id: the repeat changes nothing and waits again.
type Error struct {
	Confirmed, Wanted int   // replicas
	Cause             error // why the replicas' state is unknown; nil if Confirmed is known
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

// Missing reports whether an error says that a write was carried out but is not confirmed by replicas.
func Missing(err error) bool {
	var e *Error
	return errors.As(err, &e)
}
