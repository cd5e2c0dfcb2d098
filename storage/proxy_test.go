package storage

import (
	"bytes"
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
		greets := &atomic.Bool{}
		p.running.Go(func() { p.pump(server, client, false, greets) })
		p.running.Go(func() { p.pump(client, server, true, greets) })
	}
}

// pump copies from one side to the other until either ends. greets is true while a fresh connection
// introduces itself: that answer is none to swallow.
func (p *proxy) pump(to, from net.Conn, answers bool, greets *atomic.Bool) {
	defer func() { _, _ = to.Close(), from.Close() }()
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if !answers {
			said := bytes.ToLower(buf[:n])
			greets.Store(bytes.Contains(said, []byte("\r\nhello\r\n")) || bytes.Contains(said, []byte("\r\nclient\r\n")))
		}
		if n > 0 && answers && !greets.Load() && p.armed.Load() && p.after.Add(-1) < 0 && p.armed.CompareAndSwap(true, false) {
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
