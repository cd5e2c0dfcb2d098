package queue

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/hibiken/asynq"
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
	support.Go(func() { q.hearDoorbells(background) })
	support.Go(func() { q.forgetRuns(background) })
	servers := make([]*asynq.Server, 0, 2)
	for _, l := range q.lanes() {
		support.Go(func() { l.upkeep(background) })
		support.Go(func() { l.hearCrowds(background) })
		server := l.newServer()
		if err := server.Start(asynq.HandlerFunc(l.handle)); err != nil {
			q.stopTake()
			shutDown(servers)
			return fmt.Errorf("queue %s: %w", l.name, err)
		}
		servers = append(servers, server)
	}

	<-ctx.Done()
	q.stopTake()
	grace := time.AfterFunc(q.cfg.ShutdownGrace, func() { q.stopDeliver(errShutdown) })
	defer grace.Stop()
	end := time.AfterFunc(q.cfg.ShutdownGrace+lastWords, q.giveUp)
	defer end.Stop()
	shutDown(servers)
	for _, l := range q.lanes() {
		l.work.Wait()
		l.adding.Lock() // waits for what is just being taken
		l.returnBuffer()
		l.adding.Unlock()
	}
	return nil
}

func (l *lane) newServer() *asynq.Server {
	return asynq.NewServerFromRedisClient(&backend{UniversalClient: l.q.redis, queue: l.q}, asynq.Config{
		Concurrency: l.most(), // next keeps to the slots
		Queues:      map[string]int{l.name: 1},
		Logger:      asynqLogger{l.log},
		LogLevel:    asynq.InfoLevel,
		// After an empty dequeue, which we return only to end.
		TaskCheckInterval: time.Millisecond,
		// What the upkeep does in asynq's place need not be asked for often.
		DelayedTaskCheckInterval: time.Hour,
		JanitorInterval:          time.Hour,
		// Longer than we wait ourselves: asynq must not take a message back on its own.
		ShutdownTimeout: l.q.cfg.ShutdownGrace + lastWords + time.Hour,
	})
}

func shutDown(servers []*asynq.Server) {
	var wg sync.WaitGroup
	for _, s := range servers {
		wg.Go(s.Shutdown)
	}
	wg.Wait()
}
