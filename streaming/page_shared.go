package streaming

import (
	"context"
	"sync"

	"github.com/world-redis/world-redis"
)

// smallLoan is the least memory that a page asks for, in bytes, unless a chunk is larger. This much is nearly always
// free, even while readers that accept nothing hold all memory for larger pages.
const smallLoan = 16 << 10

// sharedReads reads a page once for all readers that want it at the same time. Its memory is counted once
// (world.Room), from before the read until the last reader is done with it.
type sharedReads struct {
	mu         sync.Mutex
	inProgress map[sharing]*sharedRead // readers can join these
}

// sharing decides which readers share a page. The count of rings is part of it: a reader whose doorbell rang must not
// get what was read before. The page before is part of it, too, because it decides how the page is read.
type sharing struct {
	topic, rings, from int64
	largest            int64
}

type sharedRead struct {
	what sharing
	done chan struct{} // closed when page and err are set
	stop context.CancelFunc
	page page
	err  error

	// Guarded by sharedReads.mu.
	readers int
	loan    world.Loan // set once it is done
}

// sharedPage returns a page read that succeeded. The reader must leave it.
func (s *Service) sharedPage(ctx context.Context, name string, from int64, before page, t *topic) (*sharedRead, error) {
	r := s.pages.join(ctx, sharing{topic: t.serial, rings: t.rings.Load(), from: from, largest: before.largest},
		func(ctx context.Context) (page, world.Loan, error) { return s.lentPage(ctx, name, from, before) })
	var err error
	select {
	case <-r.done:
		err = r.err
	case <-ctx.Done():
		err = ctx.Err()
	case <-s.stopped:
		err = stopping()
	}
	if err != nil {
		s.pages.leave(r)
		return nil, err
	}
	return r, nil
}

// lentPage waits for memory and reads a page into it. Only the readers limit the wait; the read has a time limit.
func (s *Service) lentPage(ctx context.Context, name string, from int64, before page) (page, world.Loan, error) {
	least, most := s.pageRoom(before.largest)
	loan, err := world.Lend(ctx, least, most)
	if err != nil {
		return page{}, nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, sharedReadTime)
	defer cancel()
	p, err := s.readOn(ctx, name, wanted{from: from, most: pageChunks, room: loan.Bytes(), lent: true, before: before})
	if err != nil && ctx.Err() != nil {
		err = redisError(context.Background(), ctx.Err())
	}
	if err != nil {
		loan.Keep(0)
		return page{}, nil, err
	}
	loan.Keep(p.held())
	return p, loan, nil
}

// pageRoom returns the memory that a page may take if the stream's chunks have up to largest bytes; 0 means unknown.
func (s *Service) pageRoom(largest int64) (least, most int64) {
	most = int64(s.config.PageBytes)
	if largest > 0 {
		most = min(most, pageChunks*largest)
	}
	most = max(most, largest)
	return max(min(most, smallLoan), largest), most
}

// join joins the read of a page that is in progress, or starts one.
func (p *sharedReads) join(ctx context.Context, what sharing, read func(context.Context) (page, world.Loan, error)) *sharedRead {
	p.mu.Lock()
	defer p.mu.Unlock()
	if r := p.inProgress[what]; r != nil {
		r.readers++
		return r
	}
	// The read belongs to all its readers, so it ends with the last of them.
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	r := &sharedRead{what: what, done: make(chan struct{}), stop: stop, readers: 1}
	p.inProgress[what] = r
	go func() {
		defer stop()
		got, loan, err := read(ctx)
		p.finish(r, got, loan, err)
	}()
	return r
}

func (p *sharedReads) finish(r *sharedRead, got page, loan world.Loan, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.inProgress[r.what] == r {
		delete(p.inProgress, r.what)
	}
	r.page, r.loan, r.err = got, loan, err
	close(r.done)
	if r.readers == 0 {
		r.end()
	}
}

// leave ends a reader's use of a page, or its wait for it. The last reader gives the memory back.
func (p *sharedReads) leave(r *sharedRead) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if r.readers--; r.readers > 0 {
		return
	}
	if p.inProgress[r.what] == r {
		delete(p.inProgress, r.what) // nobody joins a read that is being cancelled
		r.stop()
		return
	}
	select {
	case <-r.done:
		r.end()
	default:
	}
}

// end gives back the page's memory. It is called once, with mu held, when the page is done and all readers have
// left.
func (r *sharedRead) end() {
	r.page.giveBack()
	r.page = page{}
	if r.loan != nil {
		r.loan.Keep(0)
	}
}
