package lane

import (
	"log/slog"
	"sync"
	"time"

	"github.com/world-redis/world-redis"
)

// Outage notices that Redis does not answer the queue, and logs that once, and again when Redis is back.
type Outage struct {
	clock world.Clock
	log   *slog.Logger

	mu    sync.Mutex
	since time.Time // zero: Redis answers
	back  time.Time // end of the last outage
	tries int
}

// NewOutage returns an Outage that has not begun.
func NewOutage(clock world.Clock, log *slog.Logger) *Outage { return &Outage{clock: clock, log: log} }

func (o *Outage) failed(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.tries++
	if o.since.IsZero() {
		o.since = o.clock.Now()
		o.log.Warn("Redis does not answer the queue; it continues when Redis is back", slog.Any("error", err))
	}
}

func (o *Outage) ended() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.since.IsZero() {
		return
	}
	now := o.clock.Now()
	o.log.Info("Redis answers the queue again", slog.Duration("away", now.Sub(o.since)))
	o.since, o.back, o.tries = time.Time{}, now, 0
}

// pause is how long to wait before the next call.
func (o *Outage) pause() time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	return min(500*time.Millisecond, time.Duration(20+o.tries*10)*time.Millisecond)
}

// recent reports whether Redis was away within the last d. Then leases may have lapsed whose owners
// still work on the messages, and have not been able to renew them.
func (o *Outage) recent(d time.Duration) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return !o.since.IsZero() || o.clock.Now().Sub(o.back) < d
}
