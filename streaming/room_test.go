package streaming_test

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/budget"
	"github.com/world-redis/world-redis/internal/redistest"
	"github.com/world-redis/world-redis/streaming"
)

const mib = 1 << 20

// room is a [world.Room] of n bytes.
type room struct {
	pool   *budget.Pool
	asked  atomic.Int64  // loans
	made   atomic.Int64  // bytes of a list
	gate   chan struct{} // loans wait for it
	most   atomic.Int64  // bytes of chunks that sinks had at once
	now    atomic.Int64  //
	refuse func(bytes int64) error
}

func newRoom(bytes int64) *room {
	r := &room{pool: budget.New(bytes), gate: make(chan struct{})}
	close(r.gate)
	return r
}

func (r *room) MakeRoom(_ context.Context, n int64) error {
	if r.refuse != nil {
		if err := r.refuse(n); err != nil {
			return err
		}
	}
	r.made.Add(n)
	return nil
}

func (r *room) GiveBack(n int64) { r.made.Add(-n) }

type loan struct {
	budget.Hold
}

func (l *loan) Keep(n int64) { l.Shrink(n) }

func (r *room) Lend(ctx context.Context, least, most int64) (world.Loan, error) {
	r.asked.Add(1)
	select {
	case <-r.gate:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	l := &loan{budget.Of(r.pool)}
	if l.Grow(ctx, most, 0) == nil {
		return l, nil
	}
	return l, l.Grow(ctx, least, math.MaxInt64)
}

// held counts the bytes that a sink holds.
func (r *room) held(chunks []world.Chunk) (size int64, over func()) {
	for _, chunk := range chunks {
		size += int64(len(chunk.Data))
	}
	r.most.Store(max(r.most.Load(), r.now.Add(size))) // a little late is early enough: sinks wait
	return size, func() { r.now.Add(-size) }
}

func putSized(t *testing.T, s *streaming.Service, name string, sizes ...int) {
	t.Helper()
	for _, size := range sizes {
		_, err := s.AppendChunks(t.Context(), world.Append{Name: name, RunID: "wrun_1", Chunks: [][]byte{bytes.Repeat([]byte{'x'}, size)}})
		require.NoError(t, err)
	}
}

// Readers that accept nothing hold no more memory than there is; the others wait for their turn and get everything in
// the end, and small chunks continue meanwhile.
func TestLiveReadsHoldWhatThereIsRoomFor(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		s := start(t, r.Client, r.Prefix, neverAudit)
		const readers = 12
		for i := range readers {
			putSized(t, s, fmt.Sprint("st", i), mib, mib)
			require.NoError(t, s.CloseStream(t.Context(), world.StreamClose{Name: fmt.Sprint("st", i), RunID: "wrun_1"}))
		}
		write(t, s, "small", "a")
		m := newRoom(4 * mib) // three of them are for large ones
		ctx := world.WithRoom(t.Context(), m)
		goOn, got := make(chan struct{}), make(chan int64, readers)
		var all sync.WaitGroup
		for i := range readers {
			all.Go(func() {
				total := int64(0)
				err := s.ReadStream(ctx, fmt.Sprint("st", i), 0, func(chunks []world.Chunk) error {
					size, over := m.held(chunks)
					defer over()
					<-goOn
					total += size
					return nil
				})
				if err != nil {
					t.Error(err)
				}
				got <- total
			})
		}
		// Each has seen the size of the chunks, and has asked for a page of one.
		require.Eventually(t, func() bool { return m.asked.Load() >= 2*readers && m.now.Load() == 3*mib }, longWait, time.Millisecond)
		require.EqualValues(t, 3*mib, m.pool.Used())
		var small []world.Chunk
		require.ErrorIs(t, s.ReadStream(ctx, "small", 0, func(chunks []world.Chunk) error {
			small = kept(chunks)
			return errGone
		}), errGone)
		require.Equal(t, chunks(0, "a"), small)
		close(goOn)
		all.Wait()
		for range readers {
			require.EqualValues(t, 2*mib, <-got)
		}
		require.EqualValues(t, 3*mib, m.most.Load())
		require.Zero(t, m.pool.Used())
	})
}

// A chunk for which there is never room beside others is read alone. A reader that leaves while it waits, or whose sink
// fails or panics, leaves nothing behind.
func TestARoomIsGivenBackHoweverAReadEnds(t *testing.T) {
	t.Parallel()
	r := redistest.New(t)
	s := start(t, r.Client, r.Prefix, neverAudit)
	putSized(t, s, "st", 6*mib)
	m := newRoom(4 * mib)
	ctx := world.WithRoom(t.Context(), m)
	entered, leave := make(chan struct{}), make(chan error)
	first := make(chan error, 1)
	go func() {
		first <- s.ReadStream(ctx, "st", 0, func([]world.Chunk) error {
			close(entered)
			return <-leave
		})
	}()
	<-entered
	before := m.asked.Load()
	waiting, cancel := context.WithCancel(ctx)
	second := make(chan error, 1)
	go func() { second <- s.ReadStream(waiting, "st", 0, func([]world.Chunk) error { return errGone }) }()
	require.Eventually(t, func() bool { return m.asked.Load() == before+2 }, longWait, time.Millisecond)
	cancel()
	require.ErrorIs(t, <-second, context.Canceled)
	leave <- errGone
	require.ErrorIs(t, <-first, errGone)
	require.Panics(t, func() { _ = s.ReadStream(ctx, "st", 0, func([]world.Chunk) error { panic("gone") }) })
	got := int64(0)
	require.ErrorIs(t, s.ReadStream(ctx, "st", 0, func(chunks []world.Chunk) error {
		got, _ = m.held(chunks)
		return errGone
	}), errGone)
	require.EqualValues(t, 6*mib, got)
	require.Zero(t, m.pool.Used())
	h := budget.Of(m.pool)
	require.NoError(t, h.Grow(t.Context(), 6*mib, 0), "nobody goes alone any more")
}

// Readers that share a page are charged for it once, until the last of them is done.
func TestASharedPageIsCountedOnce(t *testing.T) {
	t.Parallel()
	r := redistest.New(t)
	s := start(t, r.Client, r.Prefix, neverAudit)
	putSized(t, s, "st", mib)
	m := newRoom(4 * mib)
	m.gate = make(chan struct{})
	ctx := world.WithRoom(t.Context(), m)
	const readers = 10
	leave := make(chan struct{})
	var all sync.WaitGroup
	for range readers {
		all.Go(func() {
			_ = s.ReadStream(ctx, "st", 0, func(chunks []world.Chunk) error {
				_, over := m.held(chunks)
				defer over()
				<-leave
				return errGone
			})
		})
	}
	for page := range int64(2) { // the first shows how large the chunk is
		require.Eventually(t, func() bool { return s.Sharing() == readers && m.asked.Load() == page+1 }, longWait, time.Millisecond)
		m.gate <- struct{}{}
	}
	require.Eventually(t, func() bool { return m.now.Load() == readers*mib }, longWait, time.Millisecond)
	for left := readers; left > 0; left-- {
		require.EqualValues(t, mib, m.pool.Used())
		leave <- struct{}{}
	}
	all.Wait()
	require.EqualValues(t, 2, m.asked.Load())
	require.Zero(t, m.pool.Used())
}

// A list reserves memory before it reads a portion, and keeps as much as it has read.
func TestAListOfChunksAsksForRoom(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		s := start(t, r.Client, r.Prefix, neverAudit)
		putSized(t, s, "small", 10, 0, 1000)
		putSized(t, s, "mixed", 5*mib, 100_000, 10, 2*mib, 2*mib, 10)
		putSized(t, s, "giant", 9*mib, 10)
		for name, want := range map[string]struct {
			chunks int
			bytes  int64
		}{"small": {3, 0}, "mixed": {4, 7*mib + 100_010}, "giant": {1, 9 * mib}} {
			m := newRoom(1)
			m.refuse = func(n int64) error {
				if n > 9*mib {
					return world.OverBudget("no room for more than the largest")
				}
				return nil
			}
			p, err := s.ListChunks(world.WithRoom(t.Context(), m), name, world.PageRequest{})
			require.NoError(t, err, name)
			require.Len(t, p.Data, want.chunks, name)
			require.Equal(t, want.bytes, m.made.Load(), name)
			m.refuse = func(int64) error { return world.OverBudget("none") }
			_, err = s.ListChunks(world.WithRoom(t.Context(), m), name, world.PageRequest{})
			if want.bytes > 0 {
				require.Equal(t, world.CodeOverBudget, world.ErrorCode(err), name)
			} else {
				require.NoError(t, err)
			}
		}
	})
}
