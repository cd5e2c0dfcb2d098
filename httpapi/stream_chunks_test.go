package httpapi

import (
	"bytes"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
)

// Small chunks are gathered and large ones are not: whatever the sizes around that border, the
// bytes are those of the chunks, in order, framed or not.
func TestPagesOfAnySizesGoOutWhole(t *testing.T) {
	t.Parallel()
	var texts []string
	var chunks []world.Chunk
	for i, size := range []int{0, 1, gatherBytes - 10, 5, 4, gatherBytes - 4, gatherBytes, 0, gatherBytes - 5, 1, 0, 3 * gatherBytes, 7, 256<<10 + 1, 2} {
		texts = append(texts, strings.Repeat(string(rune('a'+i)), size))
		chunks = append(chunks, world.Chunk{Index: int64(i), Data: []byte(texts[i])})
	}
	for framed, want := range map[bool][]byte{true: frames(texts...), false: []byte(strings.Join(texts, ""))} {
		out := httptest.NewRecorder()
		require.NoError(t, newChunkWriter(out, framed).send(chunks))
		require.True(t, bytes.Equal(want, out.Body.Bytes()), "framed: %v", framed)
		require.True(t, out.Flushed)
	}
}
