package streaming

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

const (
	// longestUnnoted is how long only this process knows of its appends. Most are stored by then.
	longestUnnoted = 250 * time.Millisecond
	// noteSpare is how much longer the note of an append is kept than it counts. Its content decides.
	noteSpare = time.Minute
)

// arrivals are the appends of this process that were announced and are not stored yet, by stream name. A stream is
// not over while such an append is in progress. Other replicas see it by a key in the stream's slot that holds when
// the append was last seen in progress. The key is rewritten while the append lasts, so it becomes outdated by itself
// if this process dies.
type arrivals struct {
	mu      sync.Mutex
	streams map[string]*arrival
}

type arrival struct {
	appends int
	timer   *time.Timer // fires when the key has to be written; one per stream
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

// isArriving reports whether an append to the stream is in progress in this process.
func (s *Service) isArriving(name string) bool {
	s.arrivals.mu.Lock()
	defer s.arrivals.mu.Unlock()
	return s.arrivals.streams[name] != nil
}

// unnotedTime is how long only its process knows of an append.
func (s *Service) unnotedTime() time.Duration { return min(s.noteInterval(), longestUnnoted) }

// settleTime is how long after a check every append that was in progress then is stored or noted. It is twice the
// time until the note, since writing the note takes time, too.
func (s *Service) settleTime() time.Duration { return 2 * s.unnotedTime() }

// noteInterval is how often the key is written: several times before it is too old to count.
func (s *Service) noteInterval() time.Duration { return max(s.config.Quiet/8, time.Millisecond) }

func (s *Service) noteArrival(name string, a *arrival) {
	interval := s.noteInterval()
	ctx, cancel := context.WithTimeout(context.Background(), interval)
	defer cancel()
	err := s.client.Set(ctx, s.keys(name).arriving, s.clock.Now().UnixMilli(), s.config.Quiet+noteSpare).Err()
	if err != nil {
		s.log.Debug("could not record that chunks are arriving", slog.String("stream", name), slog.Any("error", err))
	}
	s.arrivals.mu.Lock()
	defer s.arrivals.mu.Unlock()
	if a.appends > 0 {
		a.timer.Reset(interval)
	}
}
