// Package idleconn closes connections to Redis that were not used for a while.
//
// go-redis checks the idle time of a connection only when it takes it (ConnMaxIdleTime), and it takes the one that
// was returned last. So the connections of a burst stay open for as long as the process lives, and ten idle replicas
// hold hundreds. A limit of idle connections (MaxIdleConns) would close them, but would make each burst dial again
// during its work.
//
// go-redis notices that a connection was closed here before it sends anything on it, and takes or dials another.
package idleconn

import (
	"cmp"
	"context"
	"io"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	// idleTime is how long a connection may be idle, and tick how often this is checked.
	idleTime = 15 * time.Second
	tick     = 3 * time.Second
	// kept is how many idle connections per server stay open, so that the periodic calls of an idle replica need no
	// new one.
	kept = 2
	// retired is the last use of a closed connection.
	retired = -1
)

// Dial is a dial function.
type Dial = func(ctx context.Context, network, address string) (net.Conn, error)

// Set is a set of dialled connections.
type Set struct {
	mu      sync.Mutex
	conns   map[*conn]struct{}
	stop    chan struct{}
	running sync.WaitGroup
}

// New returns an empty Set.
func New() *Set {
	return &Set{conns: map[*conn]struct{}{}, stop: make(chan struct{})}
}

// Watch checks for idle connections until the Set is closed.
func (s *Set) Watch() { s.running.Go(s.run) }

// Close ends the checks. The connections stay open.
func (s *Set) Close() {
	close(s.stop)
	s.running.Wait()
}

func (s *Set) run() {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for {
		select {
		case now := <-ticker.C:
			s.retire(now)
		case <-s.stop:
			return
		}
	}
}

// Dialer adds the connections that dial returns.
func (s *Set) Dialer(dial Dial) Dial {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		dialled, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		c := &conn{Conn: dialled, set: s, address: address}
		c.used.Store(time.Now().UnixNano())
		s.mu.Lock()
		defer s.mu.Unlock()
		s.conns[c] = struct{}{}
		return c, nil
	}
}

// retire closes connections that were idle for long, except the last ones of each server.
func (s *Set) retire(now time.Time) {
	before := now.Add(-idleTime).UnixNano()
	s.mu.Lock()
	defer s.mu.Unlock()
	idle := map[string][]*conn{}
	for c := range s.conns {
		// A connection that waits for an answer, or for messages, is in use.
		if c.reading.Load() == 0 {
			idle[c.address] = append(idle[c.address], c)
		}
	}
	for _, conns := range idle {
		slices.SortFunc(conns, func(a, b *conn) int { return cmp.Compare(b.used.Load(), a.used.Load()) })
		for _, c := range conns[min(kept, len(conns)):] {
			if used := c.used.Load(); used <= before && c.used.CompareAndSwap(used, retired) {
				delete(s.conns, c)
				_ = c.Conn.Close() // nothing is in progress
			}
		}
	}
}

// conn is a connection that records its last use.
type conn struct {
	net.Conn
	set     *Set
	address string
	used    atomic.Int64 // time of the last use in ns, or retired
	reading atomic.Int32
}

// use records a use; it returns false if the connection is closed.
func (c *conn) use() bool {
	now := time.Now().UnixNano()
	for {
		used := c.used.Load()
		if used == retired {
			return false
		}
		if c.used.CompareAndSwap(used, now) {
			return true
		}
	}
}

// Read implements net.Conn.
func (c *conn) Read(p []byte) (int, error) {
	c.reading.Add(1)
	n, err := c.Conn.Read(p)
	c.use()
	c.reading.Add(-1)
	return n, err
}

// Write implements net.Conn. After an io.EOF, go-redis repeats the command on another connection; nothing of it was
// sent.
func (c *conn) Write(p []byte) (int, error) {
	if c.used.Load() == retired {
		return 0, io.EOF
	}
	return c.Conn.Write(p)
}

// Close implements net.Conn.
func (c *conn) Close() error {
	c.set.mu.Lock()
	delete(c.set.conns, c)
	c.set.mu.Unlock()
	if c.used.Swap(retired) == retired {
		return nil
	}
	return c.Conn.Close()
}

// SyscallConn implements syscall.Conn. go-redis uses it when it takes a connection, to check whether the other side
// has closed it. For a connection with TLS that cannot be seen, so the check finds nothing.
func (c *conn) SyscallConn() (syscall.RawConn, error) {
	if !c.use() {
		return nil, io.EOF
	}
	if plain, ok := c.Conn.(syscall.Conn); ok {
		return plain.SyscallConn()
	}
	return unseen{}, nil
}

// unseen is a RawConn that never has anything to read.
type unseen struct{}

// Control implements syscall.RawConn.
func (unseen) Control(func(fd uintptr)) error { return nil }

// Read implements syscall.RawConn.
func (unseen) Read(func(fd uintptr) bool) error { return nil }

// Write implements syscall.RawConn.
func (unseen) Write(func(fd uintptr) bool) error { return nil }
