package livestream

import (
	"bytes"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
)

// Small chunks are combined and large ones are not: for sizes around that boundary, the written bytes are those of the
// chunks, in order, framed or not.
func TestPagesOfAnySizesGoOutWhole(t *testing.T) {
	t.Parallel()
	var texts []string
	var chunks []world.Chunk
	for i, size := range []int{0, 1, gatherBytes - 10, 5, 4, gatherBytes - 4, gatherBytes, 0, gatherBytes - 5, 1, 0, 3 * gatherBytes, 7, 256<<10 + 1, 2} {
		texts = append(texts, strings.Repeat(string(rune('a'+i)), size))
		chunks = append(chunks, world.Chunk{Index: int64(i), Data: []byte(texts[i])})
	}
	var frames []byte
	for _, text := range texts {
		frames = append(appendFrameLength(frames, uint32(len(text))), text...)
	}
	for framed, want := range map[bool][]byte{true: frames, false: []byte(strings.Join(texts, ""))} {
		out := httptest.NewRecorder()
		require.NoError(t, newChunkWriter(out, framed).Send(chunks))
		require.True(t, bytes.Equal(want, out.Body.Bytes()), "framed: %v", framed)
		require.True(t, out.Flushed)
	}
}

// failingWriter fails after some bytes, as a connection does.
type failingWriter struct {
	http.ResponseWriter
	left int
}

func (w *failingWriter) Write(p []byte) (int, error) {
	if w.left -= len(p); w.left < 0 {
		return 0, errors.New("broken pipe")
	}
	return w.ResponseWriter.Write(p)
}

func (w *failingWriter) Flush() {}

// A failed write ends the read through the sink, wherever in a frame it happens.
func TestSinkReportsBrokenConnections(t *testing.T) {
	t.Parallel()
	chunks := []world.Chunk{{Data: []byte(strings.Repeat("x", 10))}}
	for left := range 14 {
		w := newChunkWriter(&failingWriter{ResponseWriter: httptest.NewRecorder(), left: left}, true)
		require.Error(t, w.Send(chunks), left)
	}
	w := newChunkWriter(&failingWriter{ResponseWriter: httptest.NewRecorder(), left: 18}, true)
	require.NoError(t, w.Send(chunks))
	require.NoError(t, w.End(nil))
	require.Error(t, w.KeepAlive(0))
}
