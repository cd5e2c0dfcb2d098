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

// Sharing is how many readers wait for one page, at most.
func (s *Service) Sharing() (most int) {
	s.pages.mu.Lock()
	defer s.pages.mu.Unlock()
	for _, f := range s.pages.under {
		most = max(most, f.readers)
	}
	return most
}
