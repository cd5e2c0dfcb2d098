package asynqbridge

import (
	"sync"
	"time"
)

const (
	reportInterval = 2 * time.Minute
	reportKept     = 5 * time.Minute
	// reportLasts is how long one report, which is of several commands, may take.
	reportLasts = 4 * time.Second
)

// reports makes asynq's heartbeat rare. Every 5 s asynq would write which servers there are and what they work on, with the
// whole body of each message in work. asynq's tools get the servers, less often; they find the messages in the queue.
type reports struct {
	mu   sync.Mutex
	last time.Time
}

// due reports whether asynq may write to Redis now that its server is there.
func (r *reports) due() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	since := now.Sub(r.last)
	if since >= reportInterval {
		r.last = now
		return true
	}
	return since < reportLasts
}

// thin drops the bodies from a report of a server's state.
func thin(args []any) []any { return []any{reportKept.Seconds(), args[1]} }
