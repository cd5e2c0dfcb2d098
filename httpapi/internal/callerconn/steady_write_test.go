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

// stepConn takes a byte before each deadline, so many times, and then nothing any more.
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

// A reader that takes a little before each deadline gets everything, however long that is; one that takes nothing more
// is given up.
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

// What the other end has not got is known, and by that whether it takes anything.
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
