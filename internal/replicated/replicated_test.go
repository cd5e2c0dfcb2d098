package replicated_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis/internal/replicated"
)

func TestMark(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	require.False(t, replicated.IsWanted(ctx))
	require.False(t, replicated.IsWanted(replicated.NotWanted(ctx)))
	require.True(t, replicated.IsWanted(replicated.Wanted(ctx)))
	require.False(t, replicated.IsWanted(replicated.NotWanted(replicated.Wanted(ctx))))
}

func TestMissing(t *testing.T) {
	t.Parallel()
	cause := errors.New("NOPERM")
	err := fmt.Errorf("script s: %w", &replicated.Error{Wanted: 2, Cause: cause})
	require.True(t, replicated.Missing(err))
	require.ErrorIs(t, err, cause)
	require.EqualError(t, err, "script s: the write is not confirmed by 2 replicas: NOPERM")
	require.EqualError(t, &replicated.Error{Confirmed: 1, Wanted: 2}, "1 of 2 replicas confirmed the write")
	require.False(t, replicated.Missing(cause))
	require.False(t, replicated.Missing(nil))
}

func TestDurabilityIsReadStrictly(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]replicated.Durability{"local": 0, "replicas": 1, "replicas:1": 1, "replicas:2": 2, "replicas:16": 16} {
		var d replicated.Durability
		require.NoError(t, d.UnmarshalText([]byte(text)))
		require.Equal(t, want, d, text)
	}
	for _, text := range []string{"", "replica", "Replicas", "replicas:", "replicas:0", "replicas:-1", "replicas:+1", "replicas:01", "replicas: 1", "replicas:17", "replicas:x", "local:1", "1"} {
		var d replicated.Durability
		require.EqualError(t, d.UnmarshalText([]byte(text)), fmt.Sprintf("%q: use local, replicas or replicas:n with n from 1 to 16", text))
	}
}
