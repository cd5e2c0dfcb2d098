package memory

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/budget"
)

// A bundle waits for memory once, not once for each of its calls.
func TestABundleWaitsOnce(t *testing.T) {
	t.Parallel()
	all := New(budget.New(128 << 20))
	rest, h := all.Hold(), all.Hold()
	require.NoError(t, rest.Take(t.Context(), 96<<20))
	h.bundled, h.patience = true, time.Millisecond
	require.Equal(t, world.CodeOverBudget, world.ErrorCode(h.MakeRoom(t.Context(), 1<<20)))
	h.patience = time.Hour
	require.Equal(t, world.CodeOverBudget, world.ErrorCode(h.MakeRoom(t.Context(), 1<<20)))
	rest.Release()
	require.NoError(t, h.MakeRoom(t.Context(), 1<<20))
	h.Release()
}
