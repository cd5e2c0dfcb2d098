package budget

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const mib = 1 << 20

func take(t *testing.T, p *Pool, n int64) *Hold {
	t.Helper()
	h := Of(p)
	require.NoError(t, h.Grow(t.Context(), n, time.Minute))
	return &h
}

func refused(t *testing.T, p *Pool, n int64) {
	t.Helper()
	h := Of(p)
	require.ErrorIs(t, h.Grow(t.Context(), n, 0), ErrOver)
	require.Zero(t, h.Bytes())
}

func TestLargeHoldsLeaveRoomForSmallOnes(t *testing.T) {
	t.Parallel()
	process := New(8 * mib)
	part, other := process.Part(4*mib), process.Part(4*mib)
	first := take(t, part, 2*mib)
	refused(t, part, 2*mib) // three quarters are for large ones
	second := take(t, part, mib)
	small := take(t, part, Small)
	require.EqualValues(t, 3*mib+Small, part.Used())
	require.EqualValues(t, 3*mib+Small, process.Used())
	take(t, other, 2*mib).Release()
	for _, h := range []*Hold{first, second, small} {
		h.Release()
	}
	require.Zero(t, part.Used())
	require.Zero(t, process.Used())
}

func TestSmallHoldsHaveALimitToo(t *testing.T) {
	t.Parallel()
	process := New(4 * mib)
	part := process.Part(mib)
	var holds []*Hold
	for range 16 {
		holds = append(holds, take(t, part, Small))
	}
	refused(t, part, 1)
	require.EqualValues(t, mib, process.Used())
	holds[3].Shrink(10)
	take(t, part, 100).Release()
	for _, h := range holds {
		h.Release()
	}
	require.Zero(t, process.Used())
}

// A request that is larger than the share of large ones runs alone; requests of other parts continue.
func TestOneThatFitsBesideNothingGoesAlone(t *testing.T) {
	t.Parallel()
	process := New(8 * mib)
	part, other, third := process.Part(4*mib), process.Part(4*mib), process.Part(4*mib)
	beside := take(t, part, mib)
	giant := take(t, part, 100*mib)
	refused(t, part, 50*mib)
	take(t, part, mib).Release() // the rest is as it was
	second := take(t, other, 100*mib)
	refused(t, third, 100*mib) // two in the whole process
	take(t, third, 3*mib).Release()
	giant.Shrink(mib)
	refused(t, part, 50*mib) // it has its place to the end
	giant.Release()
	second.Release()
	take(t, third, 100*mib).Release()
	beside.Release()
	require.Zero(t, process.Used())
	// A request that grows into this size gives back what it had of the common share.
	h := take(t, part, 2*mib)
	require.NoError(t, h.Grow(t.Context(), 10*mib, 0))
	require.Zero(t, part.Used())
	require.EqualValues(t, 0, process.Used())
	h.Release()
	require.Zero(t, part.Used())
}

// Memory that is already in use counts even if there is no room, and others wait until it is released.
func TestForce(t *testing.T) {
	t.Parallel()
	process := New(4 * mib)
	part := process.Part(4 * mib)
	h := take(t, part, 2*mib)
	h.Force(2 * mib)
	require.EqualValues(t, 4*mib, process.Used())
	refused(t, part, mib)
	h.Release()
	require.Zero(t, process.Used())
}

// Waiting requests are served in their order: a large one is not starved by later ones that would fit.
func TestWaitersAreServedInOrder(t *testing.T) {
	t.Parallel()
	process := New(16 * mib)
	part, other := process.Part(8*mib), process.Part(8*mib)
	first := take(t, part, 4*mib)
	got := make(chan int64, 2)
	var all sync.WaitGroup
	wait := func(n int64) {
		before := process.queue.waiting.Load()
		all.Go(func() {
			h := Of(part)
			if h.Grow(t.Context(), n, time.Minute) == nil {
				got <- n
				h.Release()
			}
		})
		require.Eventually(t, func() bool { return process.queue.waiting.Load() > before }, time.Minute, time.Millisecond)
	}
	wait(6 * mib)
	wait(mib) // would fit at once
	refused(t, part, mib)
	take(t, other, 6*mib).Release() // waits for nobody of another part
	first.Release()
	all.Wait()
	require.EqualValues(t, 6*mib, <-got)
	require.EqualValues(t, mib, <-got)
	require.Zero(t, process.Used())
}

func TestAWaitEndsWithItsContext(t *testing.T) {
	t.Parallel()
	part := New(4 * mib).Part(2 * mib)
	first := take(t, part, mib)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	h := Of(part)
	require.ErrorIs(t, h.Grow(ctx, mib, time.Minute), context.Canceled)
	first.Release()
	require.NoError(t, h.Grow(t.Context(), mib, 0))
	h.Release()
	require.Zero(t, part.parent.Used())
}

// Many concurrent holds are taken, grow, shrink and are given up: the limit is kept, and nothing is left.
func TestManyHoldsAtOnce(t *testing.T) {
	t.Parallel()
	process := New(8 * mib)
	parts := []*Pool{process.Part(4 * mib), process.Part(4 * mib), process.Part(4 * mib)}
	var all sync.WaitGroup
	var most, over atomic.Int64
	for i := range 24 {
		all.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(i))) //nolint:gosec // a test
			for range 200 {
				h := Of(parts[random.IntN(len(parts))])
				for range 1 + random.IntN(3) {
					if h.Grow(t.Context(), random.Int64N(2*mib), time.Duration(random.IntN(3))*time.Millisecond) != nil {
						over.Add(1)
					}
				}
				if used := process.Used(); used > most.Load() {
					most.Store(used)
				}
				h.Shrink(random.Int64N(mib))
				h.Release()
			}
		})
	}
	all.Wait()
	require.LessOrEqual(t, most.Load(), process.Limit())
	require.Positive(t, over.Load(), "the test must come to the limit")
	require.Zero(t, process.Used())
	require.Zero(t, process.giants)
	require.Zero(t, process.queue.waiting.Load())
	require.Zero(t, process.blocked)
	for _, p := range parts {
		require.Zero(t, p.Used())
		require.Zero(t, p.giants)
		require.Zero(t, p.blocked)
	}
}

// The zero pool counts nothing.
func TestWithoutAPool(t *testing.T) {
	t.Parallel()
	h := Of(nil)
	require.NoError(t, h.Grow(t.Context(), 1<<40, 0))
	h.Release()
}

func BenchmarkSmallHold(b *testing.B) {
	socket := New(128 * mib).Part(64 * mib).Part(16 * mib)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			h := Of(socket)
			if h.Grow(b.Context(), 500, time.Second) != nil {
				b.Error("no room")
			}
			h.Release()
		}
	})
}
