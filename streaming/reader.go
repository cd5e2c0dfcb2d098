package streaming

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/world-redis/world-redis"
)

const (
	pageChunks = 256
	// maxIndex is the largest start that is told from a larger one: Lua counts in doubles.
	maxIndex = int64(1) << 52
	// flightTime bounds a page read that several readers wait for.
	flightTime = 10 * time.Second

	firstPause   = 50 * time.Millisecond
	longestPause = time.Second
)

// ReadStream implements [world.StreamStore]. The chunks are shared with other readers:
// the sink must not change them, nor keep them when it returns. A lost Redis connection does not end the read, unless
// Redis is away from the beginning: then the answer is CodeUnavailable at once.
func (s *Service) ReadStream(ctx context.Context, name string, start int64, sink world.ChunkSink) error {
	if err := checkName(name); err != nil {
		return err
	}
	listener := s.readers.join(s.keys(name), ownerOf(name))
	defer s.readers.leave(listener)
	if err := s.awaitSubscription(ctx, listener); err != nil {
		return err
	}
	next, err := s.resolveStart(ctx, name, start)
	if err != nil {
		return err
	}
	listener.next.Store(next)
	r := reader{service: s, name: name, listener: listener, next: next, sink: sink}
	return r.run(ctx)
}

// awaitSubscription waits until Redis has confirmed the subscription, so that from now on
// every append rings. It does not insist: without a subscription the audit still finds news.
func (s *Service) awaitSubscription(ctx context.Context, l *listener) error {
	timer := time.NewTimer(s.config.AuditInterval)
	defer timer.Stop()
	select {
	case <-l.topic.ready:
		return nil
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-s.stopped:
		return stopping()
	}
}

func (s *Service) resolveStart(ctx context.Context, name string, start int64) (int64, error) {
	if start >= 0 {
		return min(start, maxIndex), nil
	}
	info, err := s.StreamInfo(ctx, name)
	if err != nil {
		return 0, err
	}
	return max(0, info.TailIndex+1+max(start, -maxIndex)), nil
}

// reader is one live read: pages of history, and at their end a wait for the doorbell.
type reader struct {
	service  *Service
	name     string
	listener *listener
	next     int64 // index of the chunk that the sink gets next
	before   page  // the page before, without its chunks
	sink     world.ChunkSink
}

func (r *reader) run(ctx context.Context) error {
	for opened := false; ; opened = true {
		p, err := r.page(ctx, opened)
		if err != nil {
			return err
		}
		r.before = page{count: p.count, done: p.done, largest: p.largest}
		if len(p.chunks) > 0 {
			err := r.sink(p.chunks)
			p.giveBack()
			if err != nil {
				return err
			}
			r.next += int64(len(p.chunks))
			r.listener.next.Store(r.next)
		}
		switch {
		case p.ended(r.next):
			return nil
		case r.next < p.count:
			continue
		}
		if !opened {
			// Nothing may ring any more, if the run has ended long ago. Whatever fails here is
			// looked at again by the audit.
			if _, err := r.service.state(ctx, r.name); err != nil {
				r.service.log.Debug("look whether the run has ended", slog.String("stream", r.name), slog.Any("error", err))
			}
		}
		if err := r.wait(ctx); err != nil {
			return err
		}
	}
}

// page reads the next page; once the read is open it keeps trying while Redis is away.
func (r *reader) page(ctx context.Context, opened bool) (page, error) {
	pause := firstPause
	for {
		p, err := r.service.sharedPage(ctx, r.name, r.next, r.before, r.listener.topic)
		if err == nil || !opened || world.ErrorCode(err) != world.CodeUnavailable {
			return p, err
		}
		r.service.log.Debug("a live read waits for Redis", slog.String("stream", r.name), slog.Any("error", err))
		// Readers that lost Redis together must not come back together.
		timer := time.NewTimer(pause/2 + rand.N(pause/2)) //nolint:gosec // jitter
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return page{}, ctx.Err()
		case <-r.service.stopped:
			timer.Stop()
			return page{}, stopping()
		}
		pause = min(2*pause, longestPause)
	}
}

func (r *reader) wait(ctx context.Context) error {
	select {
	case <-r.listener.ring:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-r.service.stopped:
		return stopping()
	}
}

// sharedPage reads a page once for all readers that want the same one. The count of rings
// is part of what they want: a reader that was rung must not be given a page that was read
// before the ring.
func (s *Service) sharedPage(ctx context.Context, name string, from int64, before page, t *topic) (page, error) {
	key := fmt.Sprintf("%d %d %d %s", t.serial, t.rings.Load(), from, name)
	flight := s.flights.DoChan(key, func() (any, error) {
		// It is not the first reader's call alone, so it does not end with that reader.
		flightCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), flightTime)
		defer cancel()
		p, err := s.readOn(flightCtx, name, from, before)
		if flightCtx.Err() != nil {
			err = redisError(context.Background(), flightCtx.Err())
		}
		return p, err
	})
	select {
	case result := <-flight:
		if result.Err != nil {
			return page{}, result.Err
		}
		p := result.Val.(page) //nolint:forcetypeassert // the function above returns no other
		if result.Shared {
			p.memory = nil // nobody knows when the last of the readers is done with it
		}
		return p, nil
	case <-ctx.Done():
		return page{}, ctx.Err()
	case <-s.stopped:
		return page{}, stopping()
	}
}
