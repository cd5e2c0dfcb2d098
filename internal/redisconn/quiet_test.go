package redisconn

import (
	"net"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestConnectionsAreQuietUnlessThatIsOff(t *testing.T) {
	t.Parallel()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, listener.Close()) })
	at := listener.Addr().String()
	for off, options := range map[bool][]Option{false: nil, true: {Quiet(false)}} {
		to, err := parse("redis://"+at, options...)
		require.NoError(t, err)
		dialled, err := to.dial(t.Context(), "tcp", at)
		require.NoError(t, err)
		_, plain := dialled.(*net.TCPConn)
		require.Equal(t, off || runtime.GOOS != "linux", plain)
		require.NoError(t, dialled.Close())
	}
}
