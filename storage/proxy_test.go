package storage

import (
	"bytes"
	"net"
	"sync/atomic"
	"testing"

	"github.com/world-redis/world-redis/internal/worldtest"
)

// proxy is between a client and Redis. Once armed, it lets the next command through, drops the answer and cuts the
// connection; it can let some answers pass first.
type proxy struct {
	*worldtest.Proxy
	armed    atomic.Bool
	after    atomic.Int64 // answers that pass before
	swallows atomic.Int64
}

func newProxy(t testing.TB, target string) *proxy {
	t.Helper()
	p := &proxy{}
	p.Proxy = worldtest.NewProxy(t, target, func() (requests, answers worldtest.Pump) {
		greets := &atomic.Bool{}
		return func(to, from net.Conn) { p.pump(to, from, false, greets) }, func(to, from net.Conn) { p.pump(to, from, true, greets) }
	})
	return p
}

// pump copies from one side to the other until either ends. greets is true while a new connection is set up: that
// answer is not dropped.
func (p *proxy) pump(to, from net.Conn, answers bool, greets *atomic.Bool) {
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
