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
	password string    // other processes of this machine can reach its port, too
	snapshot *snapshot // nil: the data is lost when it stops
	done     chan struct{}
	ended    sync.WaitGroup
	once     sync.Once
	err      error // of stop
}

func startEmbedded(file *SnapshotFile) (*embedded, error) {
	e := &embedded{server: miniredis.NewMiniRedis(), password: rand.Text(), done: make(chan struct{})}
	if file != nil {
		e.snapshot = newSnapshot(*file)
		if err := e.snapshot.load(e.server); err != nil {
			return nil, err
		}
	}
	e.server.RequireAuth(e.password)
	if err := e.server.StartAddr("127.0.0.1:0"); err != nil {
		return nil, fmt.Errorf("start the embedded Redis: %w", err)
	}
	e.ended.Go(e.pushClock)
	if e.snapshot != nil {
		e.snapshot.connect(e.server.Addr(), e.password)
		e.ended.Go(func() { e.snapshot.keep(e.done) })
	}
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

// stop writes a last snapshot, if there is a file, and stops the server. The error is that of the snapshot.
func (e *embedded) stop() error {
	e.once.Do(func() {
		close(e.done)
		e.ended.Wait()
		if e.snapshot != nil {
			e.err = e.snapshot.finish()
		}
		e.server.Close()
	})
	return e.err
}
