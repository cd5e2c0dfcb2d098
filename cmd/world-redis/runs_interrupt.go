package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// graceful returns a context for calls that may be completed after ctx has ended.
func graceful(ctx context.Context) (context.Context, context.CancelFunc) {
	calls, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	var late *time.Timer
	var mu sync.Mutex
	stop := context.AfterFunc(ctx, func() {
		mu.Lock()
		defer mu.Unlock()
		late = time.AfterFunc(actGrace, func() { cancel(ctx.Err()) })
	})
	return interruptible{Context: calls, interrupted: ctx}, func() {
		stop()
		mu.Lock()
		defer mu.Unlock()
		if late != nil {
			late.Stop()
		}
		cancel(nil)
	}
}

// interruptible is the context of calls that may end in peace. Before each new one, begin says whether it may begin.
type interruptible struct {
	context.Context //nolint:containedctx // it is this context, and one thing more
	interrupted     context.Context
}

// mayBegin returns an error once the command was interrupted.
func mayBegin(ctx context.Context) error {
	if i, ok := ctx.(interruptible); ok {
		return i.interrupted.Err()
	}
	return ctx.Err()
}

// cutShort says how far the command has come.
func (m *manyRuns) cutShort(ctx context.Context, err error, total int) error {
	how := fmt.Sprintf("%s of %s runs are %s; run the command again to continue", thousands(m.changed), thousands(total), m.done)
	if ctx.Err() != nil {
		return errors.New("interrupted: " + how)
	}
	return fmt.Errorf("%s: %w", how, err)
}
