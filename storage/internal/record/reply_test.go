package record

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Bytes of a reply have no spare capacity, so appending to them copies them.
func TestBytesOfAReplyAreItsOwn(t *testing.T) {
	t.Parallel()
	r := Reply{"payload", "", nil, int64(1)}
	b := r.Bytes(0)
	require.Equal(t, []byte("payload"), b)
	require.Equal(t, len(b), cap(b))
	require.Equal(t, []byte{}, r.Bytes(1))
	for i := 2; i < 5; i++ {
		require.Nil(t, r.Bytes(i))
	}
}
