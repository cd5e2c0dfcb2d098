package storage

import (
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// proxy stands between a client and Redis. Once armed, it lets the next command through but
// swallows the answer and cuts the connection; or first lets some answers pass.
type proxy struct {
	listener net.Listener
	target   string
	armed    atomic.Bool
	after    atomic.Int64 // answers that pass before
	swallows atomic.Int64
	mu       sync.Mutex
	open     []net.Conn
	running  sync.WaitGroup
}

func newProxy(t testing.TB, target string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := &proxy{listener: l, target: target}
	p.running.Go(p.accept)
	t.Cleanup(func() {
		_ = l.Close()
		p.mu.Lock()
		for _, c := range p.open {
			_ = c.Close()
		}
		p.mu.Unlock()
		p.running.Wait()
	})
	return p
}

func (p *proxy) addr() string { return p.listener.Addr().String() }

func (p *proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", p.target)
		if err != nil {
			_ = client.Close()
			continue
		}
		p.mu.Lock()
		p.open = append(p.open, client, server)
		p.mu.Unlock()
		p.running.Go(func() { p.pump(server, client, false) })
		p.running.Go(func() { p.pump(client, server, true) })
	}
}

// pump copies from one side to the other until either ends.
func (p *proxy) pump(to, from net.Conn, answers bool) {
	defer func() { _, _ = to.Close(), from.Close() }()
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 && answers && p.armed.Load() && p.after.Add(-1) < 0 && p.armed.CompareAndSwap(true, false) {
			p.swallows.Add(1)
			return
		}
		if n > 0 {
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}
