package callerconn

import (
	"io"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis/internal/quietconn"
)

// stepConn accepts a byte before each deadline, n times, and then nothing.
type stepConn struct {
	closeWriter

	taken, most int
}

func (c *stepConn) Write(p []byte) (int, error) {
	if c.taken == c.most {
		return 0, os.ErrDeadlineExceeded
	}
	c.taken++
	if len(p) == 1 {
		return 1, nil
	}
	return 1, os.ErrDeadlineExceeded
}

func (c *stepConn) SetWriteDeadline(time.Time) error { return nil }

// A reader that accepts a little before each deadline gets everything, however long that takes; one that accepts
// nothing more is given up.
func TestWritesEndWhenNothingIsTaken(t *testing.T) {
	t.Parallel()
	conn := &wholeConn{closeWriter: &stepConn{most: 5000}, patience: time.Nanosecond}
	n, err := conn.Write(make([]byte, 5000))
	require.NoError(t, err)
	require.Equal(t, 5000, n)

	conn = &wholeConn{closeWriter: &stepConn{most: 7}, patience: time.Millisecond}
	n, err = conn.Write(make([]byte, 5000))
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	require.Equal(t, 7, n)
}

// The number of bytes that the other end has not received is known, and shows whether it accepts anything.
func TestUnsent(t *testing.T) {
	t.Parallel()
	conn, client := acceptWhole(t, quietconn.Wrap)
	require.Zero(t, conn.unsent())
	require.NoError(t, conn.SetWriteDeadline(time.Now()))
	_, err := conn.Write([]byte("late"))
	require.ErrorIs(t, err, os.ErrDeadlineExceeded, "one that is set from outside stays")
	if runtime.GOOS != "linux" {
		return
	}
	require.Eventually(t, func() bool {
		require.NoError(t, conn.SetWriteDeadline(time.Now().Add(10*time.Millisecond)))
		_, err := conn.Write(make([]byte, 1<<20))
		return err != nil && conn.unsent() > 0
	}, time.Minute, time.Millisecond)
	before := conn.unsent()
	read := make(chan struct{})
	go func() {
		defer close(read)
		_, _ = io.Copy(io.Discard, client)
	}()
	require.Eventually(t, func() bool { return conn.unsent() < before }, time.Minute, time.Millisecond)
	require.NoError(t, conn.Close())
	<-read
}
