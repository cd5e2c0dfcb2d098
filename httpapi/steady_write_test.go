package httpapi

import (
	"io"
	"net"
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

// An answer that nobody reads is given up, and what the service holds of it is free again.
func TestAnAnswerThatNobodyReads(t *testing.T) {
	t.Parallel()
	f := newFakes(t)
	largeRuns(f, 16<<20)
	s := newServer(t, f)
	s.answerPatience = 200 * time.Millisecond
	base, stop, done := running(t, s)
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", base[len("http://"):])
	require.NoError(t, err)
	_, err = io.WriteString(conn, "GET /v1/runs/"+runID+" HTTP/1.1\r\nHost: localhost\r\nAccept: application/cbor\r\n\r\n")
	require.NoError(t, err)
	head := make([]byte, 12)
	_, err = io.ReadFull(conn, head)
	require.NoError(t, err)
	require.Equal(t, "HTTP/1.1 200", string(head))
	require.Eventually(t, func() bool { return s.main.pool.Used() == 0 }, time.Minute, time.Millisecond)
	got, _ := io.Copy(io.Discard, conn)
	require.Less(t, got, int64(16<<20))
	require.NoError(t, conn.Close())
	stop()
	require.NoError(t, <-done)
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
