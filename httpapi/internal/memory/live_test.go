package memory

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/budget"
)

// A live read gets all that it asks for while there is room, then little, and then it waits. It uses a part of its
// namespace's memory, and bodies and lists keep the rest.
func TestALiveReadGetsWhatThereIsRoomFor(t *testing.T) {
	t.Parallel()
	all := New(budget.New(64 << 20))
	lend := func(ctx context.Context, least, most int64) (world.Loan, error) {
		return all.Hold().Lend(ctx, least, most) // one of a call whose own holding is over
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
	list := all.Hold()
	require.NoError(t, list.Take(t.Context(), 24<<20), "a page of a list")
	list.Release()
	require.Empty(t, got)
	held[0].Keep(512 << 10)
	require.EqualValues(t, 1<<20, (<-got).Bytes())
	require.EqualValues(t, 18<<20-512<<10+16<<10, all.Used())
}
