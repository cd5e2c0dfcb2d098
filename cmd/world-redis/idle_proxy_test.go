package main

import (
	"errors"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// idleProxy is a TCP proxy that ends a connection politely when the server was silent for longer
// than it has patience, as load balancers do. Its target may change for later connections.
type idleProxy struct {
	listener net.Listener
	target   atomic.Value
	patience time.Duration
	cuts     atomic.Int64
	running  sync.WaitGroup
}

func newIdleProxy(t *testing.T, target string, patience time.Duration) *idleProxy {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := &idleProxy{listener: l, patience: patience}
	p.target.Store(target)
	p.running.Go(p.accept)
	t.Cleanup(func() {
		_ = l.Close()
		p.running.Wait()
	})
	return p
}

func (p *idleProxy) addr() string { return p.listener.Addr().String() }

func (p *idleProxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", p.target.Load().(string)) //nolint:noctx,forcetypeassert // a test
		if err != nil {
			_ = client.Close()
			continue
		}
		p.running.Go(func() { p.pump(client, server, time.Hour) })
		p.running.Go(func() { p.pump(server, client, p.patience) })
	}
}

func (p *idleProxy) pump(from, to net.Conn, patience time.Duration) {
	defer func() { _, _ = from.Close(), to.Close() }()
	buffer := make([]byte, 32<<10)
	for {
		_ = from.SetReadDeadline(time.Now().Add(patience))
		n, err := from.Read(buffer)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			p.cuts.Add(1)
		}
		if _, writeErr := to.Write(buffer[:n]); err != nil || writeErr != nil {
			return
		}
	}
}
