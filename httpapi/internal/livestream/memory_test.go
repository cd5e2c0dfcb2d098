package livestream

import (
	"bytes"
	"encoding/base64"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/httpapi/internal/memory"
	"github.com/world-redis/world-redis/internal/budget"
)

// blockedWriter accepts nothing until it is released.
type blockedWriter struct {
	*httptest.ResponseRecorder
	writes *atomic.Int64
	let    chan struct{}
}

func (w blockedWriter) Write(p []byte) (int, error) {
	w.writes.Add(1)
	<-w.let
	return w.ResponseRecorder.Write(p)
}

// The readable form of a chunk is charged for while it is made and until it is sent. Readers that accept nothing share
// the memory for that, and each gets its value in the end.
func TestValuesForPeopleAreCounted(t *testing.T) {
	t.Parallel()
	all := memory.New(budget.New(64 << 20))
	const readers, size = 20, 300 << 10
	chunk := sdkChunk(`devl["` + strings.Repeat("x", size) + `"]`)
	ctx := world.WithRoom(t.Context(), all.Hold())
	var writes atomic.Int64
	let, sent := make(chan struct{}), make(chan error, readers)
	outs := make([]*httptest.ResponseRecorder, readers)
	for i := range outs {
		outs[i] = httptest.NewRecorder()
		w := newEventWriter(ctx, blockedWriter{outs[i], &writes, let})
		go func() { sent <- w.Send([]world.Chunk{{Index: 7, Data: chunk}}) }()
	}
	// A writer keeps the memory of its line, and the next one waits for the memory to make its own.
	need, line := int64(readableCopies*len(chunk)), int64(3*(size+len(`""`)))
	lane := int64(8<<20) / 4 * 3
	fit := 1 + (lane-need)/line
	require.Eventually(t, func() bool { return writes.Load() == fit }, time.Minute, time.Millisecond)
	require.Equal(t, fit*line, memory.Views(ctx).Used())
	require.Equal(t, fit*line, all.Used())
	close(let)
	for range readers {
		require.NoError(t, <-sent)
	}
	for _, out := range outs {
		require.Equal(t, "id: 7\ndata: \""+strings.Repeat("x", size)+"\"\n\n", out.Body.String())
	}
	require.Zero(t, all.Used())
}

// A chunk that is too large for a readable form takes no memory except its own.
func TestALargeChunkIsWrittenInPieces(t *testing.T) {
	t.Parallel()
	all := memory.New(budget.New(128 << 20))
	ctx := world.WithRoom(t.Context(), all.Hold())
	none := memory.Views(ctx).Limit()
	rest := budget.Of(memory.Views(ctx))
	require.NoError(t, rest.Grow(t.Context(), none, 0)) // alone
	defer rest.Release()
	for _, size := range []int{readableChunk + 1, readableChunk + 2, readableChunk + 3, 3 << 20} {
		data := make([]byte, size)
		for i := range data {
			data[i] = byte(i * i >> 3)
		}
		out := httptest.NewRecorder()
		w := newEventWriter(ctx, out)
		require.NoError(t, w.Send([]world.Chunk{{Index: 3, Data: data}}))
		want := "event: bytes\nid: 3\ndata: \"" + base64.StdEncoding.EncodeToString(data) + "\"\n\n"
		require.True(t, bytes.Equal([]byte(want), out.Body.Bytes()), size) // require.Equal would print both
	}
}
