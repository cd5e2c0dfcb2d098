package streaming

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

const (
	// longestUnnoted is how long the appends of this process are known to it alone. Most are stored by then.
	longestUnnoted = 250 * time.Millisecond
	// noteSpare is how much longer than it counts the note of an append is kept. What it says decides.
	noteSpare = time.Minute
)

// arrivals are the appends of this process that are announced and not stored yet, by the name of their
// stream. A stream is not over while one is on its way. Other replicas see it by a key in the stream's
// slot, which holds when an append was last seen to be on its way. That key is written again and again
// while the append lasts, so it grows old by itself when this process dies.
type arrivals struct {
	mu      sync.Mutex
	streams map[string]*arrival
}

type arrival struct {
	appends int
	timer   *time.Timer // until the key is to be written; one a stream
}

// ExpectAppend implements [world.StreamStore].
func (s *Service) ExpectAppend(name string) (over func()) {
	d := &s.arrivals
	d.mu.Lock()
	defer d.mu.Unlock()
	a := d.streams[name]
	if a == nil {
		a = &arrival{}
		a.timer = time.AfterFunc(s.unnotedTime(), func() { s.noteArrival(name, a) })
		d.streams[name] = a
	}
	a.appends++
	return sync.OnceFunc(func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		if a.appends--; a.appends == 0 {
			a.timer.Stop()
			delete(d.streams, name)
		}
	})
}

// isArriving reports whether an append to the stream is on its way to this process.
func (s *Service) isArriving(name string) bool {
	s.arrivals.mu.Lock()
	defer s.arrivals.mu.Unlock()
	return s.arrivals.streams[name] != nil
}

// unnotedTime is how long an append is known to its process alone.
func (s *Service) unnotedTime() time.Duration { return min(s.noteInterval(), longestUnnoted) }

// settleTime is how long after a look every append that was under way at it is stored or noted: twice the
// time until it is to be noted, since the note itself takes a while.
func (s *Service) settleTime() time.Duration { return 2 * s.unnotedTime() }

// noteInterval is how often the key is written: several times before it is too old to count.
func (s *Service) noteInterval() time.Duration { return max(s.config.Quiet/8, time.Millisecond) }

func (s *Service) noteArrival(name string, a *arrival) {
	interval := s.noteInterval()
	ctx, cancel := context.WithTimeout(context.Background(), interval)
	defer cancel()
	err := s.client.Set(ctx, s.keys(name).arriving, s.clock.Now().UnixMilli(), s.config.Quiet+noteSpare).Err()
	if err != nil {
		s.log.Debug("note that chunks are on their way", slog.String("stream", name), slog.Any("error", err))
	}
	s.arrivals.mu.Lock()
	defer s.arrivals.mu.Unlock()
	if a.appends > 0 {
		a.timer.Reset(interval)
	}
}
