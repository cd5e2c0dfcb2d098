package leader

import (
	"context"
	"errors"
	"time"

	"github.com/world-redis/world-redis/internal/pause"
)

// errOver is the cause of a portion's context when the term ends.
var errOver = errors.New("another replica may lead by now")

// Await implements [world.Leadership].
func (l *Lease) Await(ctx context.Context) bool {
	for {
		l.mu.Lock()
		stands, started := l.stands(), l.started
		l.mu.Unlock()
		if stands {
			return ctx.Err() == nil
		}
		select {
		case <-started:
			// If the term is over by the clock but Run has not noticed yet, this loop would spin.
			if l.Term() == 0 && !pause.For(ctx, l.times.pause/10) {
				return false
			}
		case <-ctx.Done():
			return false
		}
	}
}

// Lead implements [world.Leadership].
func (l *Lease) Lead(ctx context.Context, portion func(ctx context.Context) error) (bool, error) {
	l.mu.Lock()
	stands, number, ended := l.stands(), l.number, l.ended
	l.mu.Unlock()
	if !stands || ctx.Err() != nil {
		return false, nil
	}
	part, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	done := make(chan struct{})
	defer close(done)
	go func() {
		select {
		case <-ended:
			cancel(errOver)
		case <-done:
		}
	}()
	termed := &termContext{Context: part, lease: l, number: number}
	err := portion(termed)
	if err != nil && ctx.Err() == nil && termed.Err() != nil {
		return false, nil
	}
	return true, err
}

// termContext ends with a term. Its deadline is the end of the term if it is not renewed. Both are computed when they
// are read: a process that was paused finds at its next call that its term is over, before any timer has fired.
type termContext struct {
	context.Context //nolint:containedctx // it is itself a context.Context, extended by the end of the term
	lease           *Lease
	number          int64
}

// Deadline implements context.Context.
func (c *termContext) Deadline() (time.Time, bool) {
	c.lease.mu.Lock()
	defer c.lease.mu.Unlock()
	until := c.lease.until
	if c.lease.number != c.number || !c.lease.stands() {
		until = time.Unix(1, 0)
	}
	if of, ok := c.Context.Deadline(); ok && of.Before(until) {
		until = of
	}
	return until, true
}

// Err implements context.Context.
func (c *termContext) Err() error {
	if err := c.Context.Err(); err != nil {
		return err
	}
	c.lease.mu.Lock()
	defer c.lease.mu.Unlock()
	if c.lease.number != c.number || !c.lease.stands() {
		return context.DeadlineExceeded
	}
	return nil
}
