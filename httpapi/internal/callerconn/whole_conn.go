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

// net/http writes an answer that is longer than its buffer, 4 KiB, in two writes, which wake the reader
// twice. Up to longestWhole, an answer is buffered and written once.
const (
	netBuffer    = 4 << 10
	longestWhole = 64 << 10
)

// Listener accepts connections that can buffer an answer and give up on a peer that reads nothing.
type Listener struct {
	net.Listener

	Wrap     func(net.Conn) net.Conn // nil disables it
	Patience time.Duration           // how long a peer may read nothing of an answer
	Limit    *Limit                  // nil: no limit
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

// wholeConn buffers what is written between hold and let. The handler of the answer calls both, and makes the
// writes. A write fails if the peer reads nothing for too long (steady_write.go).
type wholeConn struct {
	closeWriter

	held     *[]byte // nil: writes are not buffered
	patience time.Duration
	until    atomic.Int64 // the deadline that send has set, in nanoseconds
	foreign  atomic.Bool  // other code has set a deadline
	limit    *Limit
	extra    bool // beyond the limit: it serves one request
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

// WithConn adds the connection to the context of its requests.
func WithConn(ctx context.Context, c net.Conn) context.Context {
	if whole, ok := c.(*wholeConn); ok {
		return context.WithValue(ctx, connKey{}, whole)
	}
	return ctx
}

// InOneWrite calls write, which writes an answer of size bytes, and sends it in one write if it has a suitable size.
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
