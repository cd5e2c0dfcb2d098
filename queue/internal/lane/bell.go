package lane

import "sync"

// bell wakes the worker of this process that waits for messages; the doorbell in Redis is Keys.Bell. A ring between listen and the wait is not lost,
// because the channel that listen returned is then closed.
type bell struct {
	mu   sync.Mutex
	rung chan struct{}
}

func newBell() *bell { return &bell{rung: make(chan struct{})} }

// listen returns a channel that closes at the next ring. Call it before looking for messages.
func (b *bell) listen() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.rung
}

func (b *bell) ring() {
	b.mu.Lock()
	defer b.mu.Unlock()
	close(b.rung)
	b.rung = make(chan struct{})
}
