package pause_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis/internal/pause"
)

func TestForEndsWithItsTimeOrItsContext(t *testing.T) {
	t.Parallel()
	require.True(t, pause.For(t.Context(), time.Nanosecond))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.False(t, pause.For(ctx, time.Hour))
}
