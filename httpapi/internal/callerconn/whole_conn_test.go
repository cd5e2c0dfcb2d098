package callerconn

import (
	"io"
	"net"
	"testing"

	"github.com/stretchr/testify/require"
)

// acceptWhole returns a connection that a wholeListener has accepted, and its other end.
func acceptWhole(t *testing.T, wrap func(net.Conn) net.Conn) (*wholeConn, net.Conn) {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { require.NoError(t, listener.Close()) }()
	client, err := new(net.Dialer).DialContext(t.Context(), "tcp", listener.Addr().String())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	accepted, err := Listener{Listener: listener, Wrap: wrap}.Accept()
	require.NoError(t, err)
	return accepted.(*wholeConn), client
}

// Everything written while a connection is held back is sent in one piece, and later writes are sent as usual.
func TestAConnectionThatHoldsBack(t *testing.T) {
	t.Parallel()
	conn, client := acceptWhole(t, nil)
	for range 2 { // the second time with memory of the first
		conn.hold()
		for _, part := range []string{"a", "bc", "def"} {
			n, err := conn.Write([]byte(part))
			require.NoError(t, err)
			require.Equal(t, len(part), n)
		}
		require.Equal(t, "abcdef", string(*conn.held))
		require.NoError(t, conn.let())
		_, err := conn.Write([]byte("g"))
		require.NoError(t, err)
		got := make([]byte, 7)
		_, err = io.ReadFull(client, got)
		require.NoError(t, err)
		require.Equal(t, "abcdefg", string(got))
	}
	require.NoError(t, conn.Close())
	conn.hold()
	_, err := conn.Write([]byte("lost"))
	require.NoError(t, err)
	require.Error(t, conn.let(), "the peer is gone")
}

// spyConn counts the writes to it.
type spyConn struct {
	*net.TCPConn

	written int
}

func (c *spyConn) Write(p []byte) (int, error) {
	c.written += len(p)
	return c.TCPConn.Write(p)
}

// The wrapper that is passed to New does the writes, held back or not.
func TestConnectionsAreWrapped(t *testing.T) {
	t.Parallel()
	var spy *spyConn
	wrap := func(c net.Conn) net.Conn {
		spy = &spyConn{TCPConn: c.(*net.TCPConn)}
		return spy
	}
	conn, _ := acceptWhole(t, wrap)
	_, err := conn.Write([]byte("ab"))
	require.NoError(t, err)
	conn.hold()
	_, err = conn.Write([]byte("cde"))
	require.NoError(t, err)
	require.Equal(t, 2, spy.written)
	require.NoError(t, conn.let())
	require.Equal(t, 5, spy.written)
	require.NoError(t, conn.Close())
}
