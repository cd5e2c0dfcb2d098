package queue

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/world-redis/world-redis/queue/internal/asynqbridge"
)

var (
	errLeaseLost = errors.New("the lease of the message lapsed")
	errShutdown  = errors.New("the service shuts down")
)

// lastWords is how long, after the grace period, undelivered messages may take to be put
// back.
const lastWords = 5 * time.Second

// Run delivers messages until ctx is done. Then it takes no more, lets running deliveries
// end within Config.ShutdownGrace, cuts those that do not and puts their messages back
// uncharged, and returns. It can run once.
func (q *Queue) Run(ctx context.Context) error {
	if q.started.Swap(true) {
		return errors.New("queue: Run was called before")
	}
	defer q.giveUp()
	background, stop := context.WithCancel(context.WithoutCancel(ctx))
	var support sync.WaitGroup
	defer support.Wait()
	defer stop()
	support.Go(func() { q.listenToDoorbells(background) })
	support.Go(func() { q.forgetRuns(background) })
	workers := make([]func(), 0, 2) // what stops them
	for _, l := range q.lanes() {
		support.Go(func() { l.upkeep(background) })
		support.Go(func() { l.admitThrottled(background) })
		stop, err := l.bridge.Serve(asynqbridge.Worker{
			Slots: l.most(), // next keeps to the slots
			Next:  l.next, Deliver: l.handle, Ending: q.claiming.Done(),
		})
		if err != nil {
			q.stopClaiming()
			stopAll(workers)
			return fmt.Errorf("queue: %w", err)
		}
		workers = append(workers, stop)
	}

	<-ctx.Done()
	q.stopClaiming()
	grace := time.AfterFunc(q.cfg.ShutdownGrace, func() { q.stopDeliver(errShutdown) })
	defer grace.Stop()
	end := time.AfterFunc(q.cfg.ShutdownGrace+lastWords, q.giveUp)
	defer end.Stop()
	stopAll(workers)
	for _, l := range q.lanes() {
		l.work.Wait()
		l.adding.Lock() // waits for what is just being taken
		l.releaseBuffer()
		l.adding.Unlock()
		if l.lost.exist() {
			l.undoLost()
		}
	}
	return nil
}

func stopAll(workers []func()) {
	var wg sync.WaitGroup
	for _, stop := range workers {
		wg.Go(stop)
	}
	wg.Wait()
}
