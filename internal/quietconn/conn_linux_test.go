//go:build !386

package quietconn

import (
	"bytes"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// A socket usually accepts a short write as a whole or not at all. A pipe that is nearly full accepts a part of it.
func TestAWriteContinuesAfterAnAcceptedPart(t *testing.T) {
	t.Parallel()
	var ends [2]int
	require.NoError(t, syscall.Pipe2(ends[:], syscall.O_NONBLOCK|syscall.O_CLOEXEC))
	defer func() {
		require.NoError(t, syscall.Close(ends[0]))
		require.NoError(t, syscall.Close(ends[1]))
	}()
	out := uintptr(ends[1])
	page := make([]byte, 4096)
	pages := 0
	for ; ; pages++ {
		_, err := syscall.Write(ends[1], page)
		if err != nil {
			require.ErrorIs(t, err, syscall.EAGAIN)
			break
		}
	}
	take := func(size int) []byte {
		got := make([]byte, size)
		n, err := syscall.Read(ends[0], got)
		require.NoError(t, err)
		return got[:n]
	}
	take(len(page)) // room for one

	want := bytes.Repeat([]byte("0123456789"), 800)
	w := &transfer{p: want}
	require.False(t, w.tryWrite(out), "the rest must wait for room")
	require.Equal(t, len(page), w.n)
	require.False(t, w.tryWrite(out), "there is no more room yet")
	for range pages - 1 {
		take(len(page))
	}
	require.True(t, w.tryWrite(out))
	require.Equal(t, len(want), w.n)
	require.Equal(t, string(want), string(append(take(len(page)), take(len(want))...)))
}
