package redistest

import (
	"fmt"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// Nobody returns an address at which nothing listens while the test runs: its port is bound, and refuses connections.
// A port that is merely free may be given to another test.
func Nobody(tb testing.TB) (addr string) {
	tb.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	require.NoError(tb, err)
	tb.Cleanup(func() { _ = syscall.Close(fd) })
	require.NoError(tb, syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
	name, err := syscall.Getsockname(fd)
	require.NoError(tb, err)
	bound, ok := name.(*syscall.SockaddrInet4)
	require.True(tb, ok)
	return fmt.Sprintf("127.0.0.1:%d", bound.Port)
}
