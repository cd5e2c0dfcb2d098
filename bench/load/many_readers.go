package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// readersPerStream is how many readers share a stream.
const readersPerStream = 10

// readersResult is the result of many live readers at one replica, and of runs that are created at the same time.
type readersResult struct {
	API percentiles `json:"api"` // milliseconds to create a run
	All float64     `json:"all"` // milliseconds from the first chunk's write until each reader has received its chunk
}

// manyReaders opens the readers, creates runs at a steady rate, and then writes a chunk to each stream.
func manyReaders(ctx context.Context, l streamsLoad) (any, error) {
	prefix := "many_" + newRunID()
	name := func(i int) string { return fmt.Sprint(prefix, "_", i) }
	var readers []*streamReader
	defer func() {
		for _, r := range readers {
			r.close()
		}
	}()
	for i := range l.readers {
		r, err := openStream(ctx, l.url, name(i/readersPerStream))
		if err != nil {
			return nil, fmt.Errorf("reader %d: %w", i, err)
		}
		readers = append(readers, r)
	}
	api, err := createRuns(ctx, l)
	if err != nil {
		return nil, err
	}
	var group errgroup.Group
	for _, r := range readers {
		group.Go(func() error { return r.expect(1, l.size, func(int) {}) })
	}
	writer, err := dial(ctx, l.url)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	for i := range (l.readers + readersPerStream - 1) / readersPerStream {
		if err := writer.send("/v1/runs/"+newRunID()+"/streams/"+name(i), framesType, frames(1, l.size)); err != nil {
			return nil, err
		}
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return readersResult{API: percentilesOf(api), All: milliseconds(time.Since(began))}, nil
}

// createRuns creates runs at a rate that does not depend on the answers, like independent clients.
func createRuns(ctx context.Context, l streamsLoad) ([]time.Duration, error) {
	events, err := sixEvents(300, "workflow//./bench//load", "step_1")
	if err != nil {
		return nil, err
	}
	bodies, err := bodiesOf(events[:1])
	if err != nil {
		return nil, err
	}
	conns := make(chan *conn, l.perSecond*l.seconds)
	var mu sync.Mutex
	var took []time.Duration
	group, ctx := errgroup.WithContext(ctx)
	ticker := time.NewTicker(time.Second / time.Duration(l.perSecond))
	defer ticker.Stop()
	for range l.perSecond * l.seconds {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil, group.Wait()
		}
		group.Go(func() error {
			var c *conn
			select {
			case c = <-conns:
			default:
				var err error
				if c, err = dial(ctx, l.url); err != nil {
					return err
				}
			}
			began := time.Now()
			if err := c.post("/v1/runs/"+newRunID()+"/events", bodies[0]); err != nil {
				return err
			}
			mu.Lock()
			took = append(took, time.Since(began))
			mu.Unlock()
			conns <- c
			return nil
		})
	}
	err = group.Wait()
	return took, err
}
