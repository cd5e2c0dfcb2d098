package streaming

import (
	"context"
	"sync"

	"github.com/world-redis/world-redis"
)

// smallLoan is the least memory that a page asks for, in bytes, unless a chunk is larger. This much is nearly always
// free, even while readers that accept nothing hold all memory for larger pages.
const smallLoan = 16 << 10

// pageFlights reads a page once for all readers that want it at the same time. Its memory is counted once
// (world.Room), from before the read until the last reader is done with it.
type pageFlights struct {
	mu    sync.Mutex
	under map[sharing]*pageFlight // in progress: readers can join these
}

// sharing decides which readers share a page. The count of rings is part of it: a reader whose doorbell rang must not
// get what was read before. The page before is part of it, too, because it decides how the page is read.
type sharing struct {
	topic, rings, from int64
	largest            int64
}

type pageFlight struct {
	what   sharing
	landed chan struct{} // closed when page and err are set
	stop   context.CancelFunc
	page   page
	err    error

	// Guarded by pageFlights.mu.
	readers int
	loan    world.Loan // set once it has landed
}

// sharedPage returns a page read that succeeded. The reader must leave it.
func (s *Service) sharedPage(ctx context.Context, name string, from int64, before page, t *topic) (*pageFlight, error) {
	f := s.pages.join(ctx, sharing{topic: t.serial, rings: t.rings.Load(), from: from, largest: before.largest},
		func(ctx context.Context) (page, world.Loan, error) { return s.lentPage(ctx, name, from, before) })
	var err error
	select {
	case <-f.landed:
		err = f.err
	case <-ctx.Done():
		err = ctx.Err()
	case <-s.stopped:
		err = stopping()
	}
	if err != nil {
		s.pages.leave(f)
		return nil, err
	}
	return f, nil
}

// lentPage waits for memory and reads a page into it. Only the readers limit the wait; the read has a time limit.
func (s *Service) lentPage(ctx context.Context, name string, from int64, before page) (page, world.Loan, error) {
	least, most := s.pageRoom(before.largest)
	loan, err := world.Lend(ctx, least, most)
	if err != nil {
		return page{}, nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, flightTime)
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
func (p *pageFlights) join(ctx context.Context, what sharing, read func(context.Context) (page, world.Loan, error)) *pageFlight {
	p.mu.Lock()
	defer p.mu.Unlock()
	if f := p.under[what]; f != nil {
		f.readers++
		return f
	}
	// The read belongs to all its readers, so it ends with the last of them.
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	f := &pageFlight{what: what, landed: make(chan struct{}), stop: stop, readers: 1}
	p.under[what] = f
	go func() {
		defer stop()
		got, loan, err := read(ctx)
		p.land(f, got, loan, err)
	}()
	return f
}

func (p *pageFlights) land(f *pageFlight, got page, loan world.Loan, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.under[f.what] == f {
		delete(p.under, f.what)
	}
	f.page, f.loan, f.err = got, loan, err
	close(f.landed)
	if f.readers == 0 {
		f.end()
	}
}

// leave ends a reader's use of a page, or its wait for it. The last reader gives the memory back.
func (p *pageFlights) leave(f *pageFlight) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if f.readers--; f.readers > 0 {
		return
	}
	if p.under[f.what] == f {
		delete(p.under, f.what) // nobody joins a read that is being cancelled
		f.stop()
		return
	}
	select {
	case <-f.landed:
		f.end()
	default:
	}
}

// end gives back the page's memory. It is called once, with mu held, when the page has landed and all readers have
// left.
func (f *pageFlight) end() {
	f.page.giveBack()
	f.page = page{}
	if f.loan != nil {
		f.loan.Keep(0)
	}
}
