package httpapi

import (
	"bytes"
	"context"
	"encoding/base64"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/budget"
)

// A live read gets all it asks for while there is room for that, then little, and then it waits. What it has is a part of its
// namespace's memory, of which bodies and lists keep theirs.
func TestALiveReadGetsWhatThereIsRoomFor(t *testing.T) {
	t.Parallel()
	s := newServer(t, newFakes(t), func(c *Config, _ *Deps) { c.Memory = 64 << 20 })
	lend := func(ctx context.Context, least, most int64) (world.Loan, error) {
		return s.main.holdingIn(s.main.pool).Lend(ctx, least, most) // one of a call whose own holding is over
	}
	var held []world.Loan
	for range 9 { // three quarters of three eighths are for large ones
		l, err := lend(t.Context(), 16<<10, 2<<20)
		require.NoError(t, err)
		require.EqualValues(t, 2<<20, l.Bytes())
		held = append(held, l)
	}
	little, err := lend(t.Context(), 16<<10, 2<<20)
	require.NoError(t, err)
	require.EqualValues(t, 16<<10, little.Bytes())
	ctx, cancel := context.WithCancel(t.Context())
	gone := make(chan error, 1)
	go func() {
		_, err := lend(ctx, 1<<20, 2<<20)
		gone <- err
	}()
	got := make(chan world.Loan, 1)
	go func() {
		l, _ := lend(t.Context(), 1<<20, 1<<20)
		got <- l
	}()
	cancel()
	require.ErrorIs(t, <-gone, context.Canceled)
	list := s.main.holdingIn(s.main.pool)
	require.NoError(t, list.take(t.Context(), 24<<20), "a page of a list")
	list.release()
	require.Empty(t, got)
	held[0].Keep(512 << 10)
	require.EqualValues(t, 1<<20, (<-got).Bytes())
	require.EqualValues(t, 18<<20-512<<10+16<<10, s.main.pool.Used())
}

// blockedWriter takes nothing until it is let.
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

// What people see of a chunk takes memory of its own while it is made and until it is taken. Readers who take nothing share what
// there is for that, and each gets its value in the end.
func TestValuesForPeopleAreCounted(t *testing.T) {
	t.Parallel()
	s := newServer(t, newFakes(t), func(c *Config, _ *Deps) { c.Memory = 64 << 20 })
	const readers, size = 20, 300 << 10
	chunk := framedValue(`devl["` + strings.Repeat("x", size) + `"]`)
	ctx := world.WithRoom(t.Context(), s.main.holdingIn(s.main.pool))
	var writes atomic.Int64
	let, sent := make(chan struct{}), make(chan error, readers)
	outs := make([]*httptest.ResponseRecorder, readers)
	for i := range outs {
		outs[i] = httptest.NewRecorder()
		w := newEventWriter(ctx, blockedWriter{outs[i], &writes, let})
		go func() { sent <- w.send([]world.Chunk{{Index: 7, Data: chunk}}) }()
	}
	// One that writes keeps what its line takes, and the next waits for what it needs to make its own.
	need, line := int64(readableCopies*len(chunk)), int64(3*(size+len(`""`)))
	lane := int64(8<<20) / 4 * 3
	fit := 1 + (lane-need)/line
	require.Eventually(t, func() bool { return writes.Load() == fit }, time.Minute, time.Millisecond)
	require.Equal(t, fit*line, s.main.live.views.Used())
	require.Equal(t, fit*line, s.main.pool.Used())
	close(let)
	for range readers {
		require.NoError(t, <-sent)
	}
	for _, out := range outs {
		require.Equal(t, "id: 7\ndata: \""+strings.Repeat("x", size)+"\"\n\n", out.Body.String())
	}
	require.Zero(t, s.main.pool.Used())
}

// A chunk that is too large to be looked into takes no memory but its own.
func TestALargeChunkIsWrittenInPieces(t *testing.T) {
	t.Parallel()
	s := newServer(t, newFakes(t))
	none := s.main.live.views.Limit()
	all := budget.Of(s.main.live.views)
	require.NoError(t, all.Grow(t.Context(), none, 0)) // alone
	defer all.Release()
	for _, size := range []int{readableChunk + 1, readableChunk + 2, readableChunk + 3, 3 << 20} {
		data := make([]byte, size)
		for i := range data {
			data[i] = byte(i * i >> 3)
		}
		out := httptest.NewRecorder()
		w := newEventWriter(world.WithRoom(t.Context(), s.main.holdingIn(s.main.pool)), out)
		require.NoError(t, w.send([]world.Chunk{{Index: 3, Data: data}}))
		want := "event: bytes\nid: 3\ndata: \"" + base64.StdEncoding.EncodeToString(data) + "\"\n\n"
		require.True(t, bytes.Equal([]byte(want), out.Body.Bytes()), size) // require.Equal would print both
	}
}
