package main

import (
	"errors"
	"net"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/world-redis/world-redis/internal/worldtest"
)

// idleProxy is a TCP proxy that closes a connection properly if the server was silent for longer than its patience, as
// load balancers do. Its target may change for later connections.
type idleProxy struct {
	*worldtest.Proxy
	cuts atomic.Int64
}

func newIdleProxy(t *testing.T, target string, patience time.Duration) *idleProxy {
	t.Helper()
	p := &idleProxy{}
	p.Proxy = worldtest.NewProxy(t, target, func() (requests, answers worldtest.Pump) {
		return func(to, from net.Conn) { p.pump(to, from, time.Hour) }, func(to, from net.Conn) { p.pump(to, from, patience) }
	})
	return p
}

func (p *idleProxy) pump(to, from net.Conn, patience time.Duration) {
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
