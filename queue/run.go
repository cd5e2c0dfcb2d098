package queue

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

var errShutdown = errors.New("the service shuts down")

// releaseTime is how long, after the grace period, undelivered messages may take to be put back.
const releaseTime = 5 * time.Second

// Run delivers messages until ctx ends. Then it claims no more, lets running deliveries
// finish within Config.ShutdownGrace, cuts those that do not and puts their messages back
// uncharged, and returns. It can run once.
func (q *Queue) Run(ctx context.Context) error {
	if q.started.Swap(true) {
		return errors.New("queue: Run was called before")
	}
	defer q.stopWriting()
	background, stop := context.WithCancel(context.WithoutCancel(ctx))
	var support sync.WaitGroup
	defer support.Wait()
	defer stop()
	support.Go(func() { q.listenToDoorbells(background) })
	support.Go(func() { q.forgetRuns(background) })
	stops := make([]func(), 0, 2)
	for _, w := range q.workers() {
		support.Go(func() { w.Upkeep(background) })
		support.Go(func() { w.admitThrottled(background) })
		stop, err := w.Serve(w.handle)
		if err != nil {
			q.stopClaiming()
			callAll(stops)
			return fmt.Errorf("queue: %w", err)
		}
		stops = append(stops, stop)
	}

	<-ctx.Done()
	q.stopClaiming()
	grace := time.AfterFunc(q.cfg.ShutdownGrace, func() { q.stopDelivering(errShutdown) })
	defer grace.Stop()
	end := time.AfterFunc(q.cfg.ShutdownGrace+releaseTime, q.stopWriting)
	defer end.Stop()
	callAll(stops)
	for _, w := range q.workers() {
		w.Drain()
	}
	return nil
}

func callAll(functions []func()) {
	var wg sync.WaitGroup
	for _, f := range functions {
		wg.Go(f)
	}
	wg.Wait()
}
