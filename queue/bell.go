package queue

import "sync"

// bell wakes whoever waits for messages. A ring between listen and the wait is not lost:
// the channel that listen returned is closed already.
type bell struct {
	mu   sync.Mutex
	rung chan struct{}
}

func newBell() *bell { return &bell{rung: make(chan struct{})} }

// listen returns a channel that closes at the next ring. Listen first, then look.
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
