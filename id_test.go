package world_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
)

func TestValidKeepsPathAndPatternTricksOut(t *testing.T) {
	t.Parallel()
	require.True(t, world.ValidID("wrun_01ARZ3NDEKTSV4RRFFQ69G5FAV"))
	require.True(t, world.ValidID("wrun_hc_a.b:c-d"))
	require.True(t, world.ValidID("..a"))
	require.True(t, world.ValidID(strings.Repeat("a", world.MaxID)))
	for _, id := range []string{"", ".", "..", "...", strings.Repeat(".", 256), "a/b", "a{b}", "a*", "a b", "ä", "a\n", strings.Repeat("a", 257)} {
		require.False(t, world.ValidID(id), id)
	}
}
