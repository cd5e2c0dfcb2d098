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
	// maxIndex is the largest start that differs from a larger one, because Lua's numbers are doubles.
	maxIndex = int64(1) << 52
	// sharedReadTime limits a read that several readers wait for.
	sharedReadTime = 10 * time.Second

	firstPause   = 50 * time.Millisecond
	longestPause = time.Second
)

// ReadStream implements [world.StreamStore]. The chunks are shared with other readers: the sink must neither change
// them nor keep them after it returns. A lost connection to Redis does not end the read. If Redis cannot be reached
// at the start, it returns CodeUnavailable immediately.
func (s *Service) ReadStream(ctx context.Context, name string, start int64, sink world.ChunkSink) error {
	if err := checkName(name); err != nil {
		return err
	}
	listener := s.topics.join(s.keys(name))
	defer s.topics.leave(listener)
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

// awaitSubscription waits until Redis has confirmed the subscription, so that every later append rings. It gives up
// after a while: without a subscription the audit still finds new chunks.
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
	state, err := s.look(ctx, name)
	if err != nil {
		return 0, err
	}
	return max(0, state.count+max(start, -maxIndex)), nil
}

// reader is one live read: pages of history, and at their end a wait for the doorbell.
type reader struct {
	service  *Service
	name     string
	listener *listener
	next     int64 // index of the chunk that the sink gets next
	before   page  // the previous page, without its chunks
	sink     world.ChunkSink
}

func (r *reader) run(ctx context.Context) error {
	for opened := false; ; opened = true {
		p, err := r.readPage(ctx, opened)
		if err != nil {
			return err
		}
		switch {
		case p.ended(r.next):
			return nil
		case r.next < p.count:
			continue
		}
		// No doorbell rings for a stream that nobody closes. The audit notifies the waiting readers, but this one may
		// have joined after that.
		if r.listener.over.Swap(false) || !opened {
			switch now, err := r.look(ctx); {
			case err != nil:
				return err
			case now.ended(r.next):
				return nil
			case r.next < now.count:
				continue
			}
		}
		if err := r.wait(ctx); err != nil {
			return err
		}
	}
}

// readPage reads the next page and sends its chunks. Without them, the page is kept in before.
func (r *reader) readPage(ctx context.Context, opened bool) (page, error) {
	shared, err := r.page(ctx, opened)
	if err != nil {
		return page{}, err
	}
	defer r.service.pages.leave(shared)
	p := shared.page
	if !opened && p.done { // for an open one this is checked later
		if err := r.service.checkRun(ctx, ownerOf(r.name)); err != nil {
			return page{}, err
		}
	}
	r.before = page{view: p.view, largest: p.largest}
	if len(p.chunks) == 0 {
		return r.before, nil
	}
	if err := r.sink(p.chunks); err != nil {
		return page{}, err
	}
	r.next += int64(len(p.chunks))
	r.listener.next.Store(r.next)
	return r.before, nil
}

// look checks whether the stream is over. A failed check is repeated after the next audit, except when the run does
// not exist.
func (r *reader) look(ctx context.Context) (view, error) {
	st, err := r.service.settled(ctx, func(ctx context.Context) (state, error) {
		return r.service.sharedState(ctx, r.name, r.listener.topic)
	})
	switch {
	case err == nil:
		return st.from(r.next), nil
	case world.ErrorCode(err) == world.CodeRunNotFound || ctx.Err() != nil:
		return view{}, err
	}
	r.service.log.Debug("could not check whether the run has ended", slog.String("stream", r.name), slog.Any("error", err))
	return view{}, nil
}

// page joins the read of the next page. Once the read is open, it retries while Redis cannot be reached. The caller
// must leave the page when it is done with the chunks.
func (r *reader) page(ctx context.Context, opened bool) (*sharedRead, error) {
	pause := firstPause
	for {
		shared, err := r.service.sharedPage(ctx, r.name, r.next, r.before, r.listener.topic)
		if err == nil || !opened || world.ErrorCode(err) != world.CodeUnavailable {
			return shared, err
		}
		r.service.log.Debug("a live read waits for Redis", slog.String("stream", r.name), slog.Any("error", err))
		// Readers that lost Redis at the same time must not come back at the same time.
		timer := time.NewTimer(pause/2 + rand.N(pause/2)) //nolint:gosec // jitter
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil, ctx.Err()
		case <-r.service.stopped:
			timer.Stop()
			return nil, stopping()
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

// sharedState reads the state of a stream once for all readers that want it.
func (s *Service) sharedState(ctx context.Context, name string, t *topic) (state, error) {
	// The count of rings is part of the key: a reader whose doorbell rang must not get what was read before.
	shared := s.looks.DoChan(fmt.Sprintf("%d %d", t.serial, t.rings.Load()), func() (any, error) {
		// The read belongs to all its readers, so it does not end with the first.
		lookCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), sharedReadTime)
		defer cancel()
		st, err := s.look(lookCtx, name)
		if lookCtx.Err() != nil {
			err = redisError(context.Background(), lookCtx.Err())
		}
		return st, err
	})
	select {
	case result := <-shared:
		if result.Err != nil {
			return state{}, result.Err
		}
		return result.Val.(state), nil //nolint:forcetypeassert // the function above returns no other
	case <-ctx.Done():
		return state{}, ctx.Err()
	case <-s.stopped:
		return state{}, stopping()
	}
}
