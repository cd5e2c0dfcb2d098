// Package callerconn has the connections of callers: how many there may be, how an answer leaves in one piece, and when to give up on
// a caller that reads nothing.
package callerconn

import (
	"context"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// An answer that is longer than the buffer of net/http, 4 KiB, leaves in two writes, and whoever waits
// for it is woken for the first and then again for the second. Up to longestWhole it leaves in one.
const (
	netBuffer    = 4 << 10
	longestWhole = 64 << 10
)

// Listener hands out connections that can hold back what is written to them.
type Listener struct {
	net.Listener

	Wrap     func(net.Conn) net.Conn // nil: nothing
	Patience time.Duration           // how long a peer may take nothing of an answer
	Limit    *Limit                  // nil: there may be any number
}

// Accept implements net.Listener.
func (l Listener) Accept() (net.Conn, error) {
	c, extra, err := l.Limit.accept(l.Listener)
	if err != nil {
		return nil, err
	}
	if l.Wrap != nil {
		c = l.Wrap(c)
	}
	if tcp, ok := c.(closeWriter); ok {
		return &wholeConn{closeWriter: tcp, patience: l.Patience, limit: l.Limit, extra: extra}, nil
	}
	return c, nil
}

// closeWriter is what net/http needs of a TCP connection.
type closeWriter interface {
	net.Conn
	CloseWrite() error
}

// wholeConn holds back what is written between hold and let. Both are called by the handler whose answer
// it is, as the writes are. A write fails when the peer takes nothing for too long (steady_write.go).
type wholeConn struct {
	closeWriter

	held     *[]byte // nil: nothing is held back
	patience time.Duration
	until    atomic.Int64 // the deadline that send has set, in nanoseconds
	foreign  atomic.Bool  // somebody else has set one
	limit    *Limit
	extra    bool // there are too many: it is for one request, of health or metrics
	left     atomic.Bool
}

var heldPool = sync.Pool{New: func() any {
	room := make([]byte, 0, longestWhole+netBuffer)
	return &room
}}

// Write implements net.Conn.
func (c *wholeConn) Write(p []byte) (int, error) {
	if c.held == nil {
		return c.send(p)
	}
	*c.held = append(*c.held, p...)
	return len(p), nil
}

func (c *wholeConn) hold() { c.held = heldPool.Get().(*[]byte) }

func (c *wholeConn) let() error {
	held := c.held
	c.held = nil
	_, err := c.send(*held)
	if cap(*held) <= 2*longestWhole {
		*held = (*held)[:0]
		heldPool.Put(held)
	}
	return err
}

type connKey struct{}

// WithConn lets handlers find their connection.
func WithConn(ctx context.Context, c net.Conn) context.Context {
	if whole, ok := c.(*wholeConn); ok {
		return context.WithValue(ctx, connKey{}, whole)
	}
	return ctx
}

// InOneWrite lets write send an answer of so many bytes.
func InOneWrite(r *http.Request, w http.ResponseWriter, size int, write func() error) error {
	c, ok := r.Context().Value(connKey{}).(*wholeConn)
	if !ok || size < netBuffer-1024 || size > longestWhole {
		return write()
	}
	c.hold()
	err := write()
	if flushErr := http.NewResponseController(w).Flush(); err == nil {
		err = flushErr
	}
	if letErr := c.let(); err == nil {
		err = letErr
	}
	return err
}
