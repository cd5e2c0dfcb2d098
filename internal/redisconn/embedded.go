package redisconn

import (
	"crypto/rand"
	"fmt"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2"
)

// embedded is a miniredis in this process. Its expiry clock moves only when it is told to, so a ticker advances it by
// the elapsed time.
type embedded struct {
	server   *miniredis.Miniredis
	password string // other processes of this machine can reach its port, too
	done     chan struct{}
	ended    sync.WaitGroup
	once     sync.Once
}

func startEmbedded() (*embedded, error) {
	e := &embedded{server: miniredis.NewMiniRedis(), password: rand.Text(), done: make(chan struct{})}
	e.server.RequireAuth(e.password)
	if err := e.server.StartAddr("127.0.0.1:0"); err != nil {
		return nil, fmt.Errorf("start the embedded Redis: %w", err)
	}
	e.ended.Go(e.pushClock)
	return e, nil
}

func (e *embedded) pushClock() {
	ticker := time.NewTicker(250 * time.Millisecond)
	defer ticker.Stop()
	last := time.Now()
	for {
		select {
		case <-e.done:
			return
		case now := <-ticker.C:
			e.server.FastForward(now.Sub(last))
			last = now
		}
	}
}

func (e *embedded) stop() {
	e.once.Do(func() {
		close(e.done)
		e.ended.Wait()
		e.server.Close()
	})
}
