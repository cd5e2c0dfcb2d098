package worldtest

import (
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// Pump copies data from one side of a proxy to the other, until either side ends or it stops. The proxy then closes
// both.
type Pump func(to, from net.Conn)

// Proxy is between clients and a server.
type Proxy struct {
	listener net.Listener
	target   atomic.Pointer[string]
	pumps    func() (requests, answers Pump)
	mu       sync.Mutex
	open     map[net.Conn]struct{} // nil once the test has ended
	running  sync.WaitGroup
}

// NewProxy starts a proxy that ends with the test. pumps is called for each connection: one copies what the client
// sends, the other what the server answers.
func NewProxy(t testing.TB, target string, pumps func() (requests, answers Pump)) *Proxy {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := &Proxy{listener: l, pumps: pumps, open: map[net.Conn]struct{}{}}
	p.SetTarget(target)
	p.running.Go(p.accept)
	t.Cleanup(func() {
		require.NoError(t, l.Close())
		p.closeAll()
		p.running.Wait()
	})
	return p
}

// Addr is the address for clients.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// SetTarget sets the server for later connections.
func (p *Proxy) SetTarget(addr string) { p.target.Store(&addr) }

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", *p.target.Load()) //nolint:noctx // ends with the listener
		if err != nil {
			_ = client.Close()
			continue
		}
		if !p.keep(client, server) {
			return
		}
		requests, answers := p.pumps()
		p.running.Go(func() { p.run(requests, server, client) })
		p.running.Go(func() { p.run(answers, client, server) })
	}
}

func (p *Proxy) run(pump Pump, to, from net.Conn) {
	pump(to, from)
	_, _ = to.Close(), from.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.open, from)
}

// keep records connections that end with the test, and returns false once it has ended.
func (p *Proxy) keep(conns ...net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range conns {
		if p.open == nil {
			_ = c.Close()
		} else {
			p.open[c] = struct{}{}
		}
	}
	return p.open != nil
}

func (p *Proxy) closeAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.open {
		_ = c.Close()
	}
	p.open = nil
}
