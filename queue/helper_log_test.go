package queue_test

import (
	"bytes"
	"log/slog"
	"sync"
	"time"
)

// lines keeps what is logged.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *lines) logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

// steppedClock is the machine's clock plus what a test skipped, and never shows a
// millisecond twice, so that what happens later has a later time.
type steppedClock struct {
	mu      sync.Mutex
	skipped time.Duration
}

func (c *steppedClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.skipped += time.Millisecond
	return time.Now().Add(c.skipped)
}

func (c *steppedClock) skip(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.skipped += d
}
