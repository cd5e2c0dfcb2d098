package streaming

import (
	"context"
	"time"
)

// BetweenLooks calls f, in place of a pause, between the two looks at a stream that seems over.
func (c *Config) BetweenLooks(f func()) {
	c.pause = func(context.Context, <-chan struct{}, time.Duration) error {
		f()
		return nil
	}
}
