package queue

import (
	"log/slog"
	"sync"
	"time"

	"github.com/world-redis/world-redis"
)

// outage notices that Redis is away, says so once, and once more when it is back.
type outage struct {
	clock  world.Clock
	logger *slog.Logger

	mu    sync.Mutex
	since time.Time // zero: Redis answers
	back  time.Time // end of the last outage
	tries int
}

func (o *outage) failed(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.tries++
	if o.since.IsZero() {
		o.since = o.clock.Now()
		o.logger.Warn("Redis does not answer the queue; it goes on when Redis is back", slog.Any("error", err))
	}
}

func (o *outage) ended() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.since.IsZero() {
		return
	}
	now := o.clock.Now()
	o.logger.Info("Redis answers the queue again", slog.Duration("away", now.Sub(o.since)))
	o.since, o.back, o.tries = time.Time{}, now, 0
}

// pause is how long to wait before the next try.
func (o *outage) pause() time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	return min(500*time.Millisecond, time.Duration(20+o.tries*10)*time.Millisecond)
}

// recent reports whether Redis was away within the last d: then leases may have lapsed
// although their owners are well, and have yet to renew them.
func (o *outage) recent(d time.Duration) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return !o.since.IsZero() || o.clock.Now().Sub(o.back) < d
}
