package streaming

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
)

// The raw reply to an XRANGE, and every possible damage: it is used completely or not at all.
func TestRowsOfARawReply(t *testing.T) {
	t.Parallel()
	const two = "*2\r\n*2\r\n$3\r\n5-0\r\n*4\r\n$1\r\nd\r\n$4\r\na\r\nb\r\n$1\r\nu\r\n$2\r\nid\r\n*2\r\n$3\r\n6-0\r\n*2\r\n$1\r\nd\r\n$0\r\n\r\n"
	var p page
	require.True(t, p.addRows(4, []byte(two)))
	require.Equal(t, []world.Chunk{{Index: 4, Data: []byte("a\r\nb")}, {Index: 5, Data: []byte{}}}, p.chunks)
	require.True(t, new(page).addRows(0, []byte("*0\r\n")))
	for cut := range two {
		require.False(t, new(page).addRows(0, []byte(two[:cut])), "%q", two[:cut])
	}
	for _, other := range []string{
		two + "+", "-MOVED 5 127.0.0.1:7000\r\n", "-LOADING Redis is loading\r\n", "*-1\r\n", "$-1\r\n", ":1\r\n", "*1\r\n$3\r\n5-0\r\n", "*1000000000000\r\n",
		"*1\r\n*2\r\n$3\r\n5-0\r\n*2\r\n$1\r\ne\r\n$1\r\n1\r\n", // the end of a stream is no chunk
		"*1\r\n*2\r\n$3\r\n5-0\r\n*2\r\n$1\r\nd\r\n$-1\r\n", "*1\r\n*2\r\n$3\r\n5-0\r\n*2\r\n$1\r\nd\r\n$99\r\nx\r\n",
	} {
		require.False(t, new(page).addRows(0, []byte(other)), "%q", other)
	}
}
