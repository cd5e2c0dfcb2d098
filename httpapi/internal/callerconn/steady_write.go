package callerconn

import (
	"errors"
	"os"
	"syscall"
	"time"

	"github.com/world-redis/world-redis/internal/quietconn"
)

const (
	// AnswerPatience is how long a peer may read nothing of an answer. A peer that reads a kilobyte a second empties its
	// system's buffer, 64 KiB on the loopback interface, before more data is sent.
	AnswerPatience = 75 * time.Second
	// answerLooks is how often progress is checked within that time.
	answerLooks = 8
)

// send writes p while the peer reads. The deadline is extended after each progress, so a slow reader gets
// everything. A write that does not block costs one look at the clock.
func (c *wholeConn) send(p []byte) (n int, err error) {
	if c.patience == 0 {
		return c.closeWriter.Write(p)
	}
	var moved time.Time
	unsent := -1
	for {
		c.arm()
		more, err := c.closeWriter.Write(p[n:])
		n += more
		if err == nil || c.foreign.Load() || !errors.Is(err, os.ErrDeadlineExceeded) {
			return n, err
		}
		left, now := c.unsent(), time.Now()
		if more > 0 || left != unsent || moved.IsZero() {
			moved = now
		}
		if unsent = left; now.Sub(moved) >= c.patience {
			return n, err
		}
	}
}

// arm extends the deadline if less than half an interval is left.
func (c *wholeConn) arm() {
	now, look := time.Now(), c.patience/answerLooks
	if c.foreign.Load() || c.until.Load()-now.UnixNano() > int64(look/2) {
		return
	}
	until := now.Add(look)
	c.until.Store(until.UnixNano())
	_ = c.closeWriter.SetWriteDeadline(until)
}

// unsent returns how many bytes the peer's system has not received yet.
func (c *wholeConn) unsent() int {
	if conn, ok := c.closeWriter.(syscall.Conn); ok {
		return quietconn.Unsent(conn)
	}
	return 0
}

// SetWriteDeadline implements net.Conn. While it is set, send sets none.
func (c *wholeConn) SetWriteDeadline(t time.Time) error {
	c.foreign.Store(!t.IsZero())
	c.until.Store(0)
	return c.closeWriter.SetWriteDeadline(t)
}

// SetDeadline implements net.Conn.
func (c *wholeConn) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}
