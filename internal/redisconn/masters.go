package redisconn

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// slowCall is how long a call may take before its node is suspected: a master whose machine is gone, or that is
	// frozen, refuses nothing.
	slowCall = time.Second
	// lookTime is what one look at the masters may take, and oneNode what one node may take to answer.
	lookTime = time.Second
	oneNode  = 300 * time.Millisecond
	// lookEvery lies between the beginnings of two looks, lookPause between them at least, and looksMost is how many there
	// are after one suspicion: a minute of them at least.
	lookEvery = 200 * time.Millisecond
	lookPause = 50 * time.Millisecond
	looksMost = 300
)

// masters finds out who the masters are when calls fail or hang, and closes the connections to those that are none any
// more. By itself go-redis waits on them until a deadline, and learns of other masters by what may not answer either.
type masters struct {
	look     func(ctx context.Context) (settled bool)
	suspects chan struct{} // capacity 1: a call failed, or is slow
	news     chan struct{} // capacity 1: there may be other masters
	stop     context.CancelFunc
	running  sync.WaitGroup
}

// watchMasters adds itself to a client that nobody has used yet. look asks who the masters are, and says whether all of
// them answer. Each of listen runs until the watch ends, and calls news when there may be other masters.
func watchMasters(client redis.UniversalClient, look func(ctx context.Context) (settled bool), listen ...func(ctx context.Context, news func())) *masters {
	ctx, stop := context.WithCancel(context.Background())
	m := &masters{look: look, suspects: make(chan struct{}, 1), news: make(chan struct{}, 1), stop: stop}
	client.AddHook(m)
	m.running.Go(func() { m.run(ctx) })
	for _, part := range listen {
		m.running.Go(func() { part(ctx, func() { signal(m.news) }) })
	}
	return m
}

func (m *masters) close() {
	m.stop()
	m.running.Wait()
}

// suspect has the masters looked at.
func (m *masters) suspect() { signal(m.suspects) }

func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default: // one that nobody has taken yet covers this one
	}
}

func (m *masters) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-m.suspects:
		case <-m.news:
		}
		for range looksMost {
			next := time.Now().Add(lookEvery)
			settled, old := m.once(ctx)
			if old {
				continue
			}
			select {
			case <-ctx.Done():
				return
			case <-m.news:
				continue
			case <-time.After(max(time.Until(next), lookPause)):
			}
			if settled {
				break
			}
		}
	}
}

// once is one look. News ends it, for it may wait for a node that hangs and has been replaced: it is old then.
func (m *masters) once(ctx context.Context) (settled, old bool) {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	looked := make(chan bool, 1)
	go func() { looked <- m.look(ctx) }()
	select {
	case settled := <-looked:
		return settled, false
	case <-m.news:
		cancel()
		<-looked
		return false, true
	}
}

// isMaster asks a node.
func isMaster(ctx context.Context, node *redis.Client) bool {
	ctx, cancel := context.WithTimeout(ctx, oneNode)
	defer cancel()
	role, err := node.Do(ctx, "ROLE").Slice()
	if redis.IsPermissionError(err) { // it answers, and more cannot be known
		return true
	}
	return err == nil && len(role) > 0 && role[0] == "master"
}

// lost says whether an error may come of a master that is not there.
func lost(err error) bool {
	var answered redis.Error
	switch {
	case err == nil, errors.Is(err, context.Canceled):
		return false
	case errors.As(err, &answered):
		return redis.IsClusterDownError(err) || redis.IsReadOnlyError(err) || redis.IsMasterDownError(err)
	default:
		return true
	}
}

// DialHook implements redis.Hook.
func (m *masters) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook implements redis.Hook.
func (m *masters) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		return m.during(func() error { return next(ctx, cmd) })
	}
}

// ProcessPipelineHook implements redis.Hook.
func (m *masters) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		return m.during(func() error { return next(ctx, cmds) })
	}
}

func (m *masters) during(call func() error) error {
	slow := time.AfterFunc(slowCall, m.suspect)
	err := call()
	slow.Stop()
	if lost(err) {
		m.suspect()
	}
	return err
}
