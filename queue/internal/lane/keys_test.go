package lane

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
)

// Scores keep their milliseconds in the text form in which Redis returns them.
func TestScoresKeepMilliseconds(t *testing.T) {
	t.Parallel()
	for _, ms := range []world.Millis{1, 999, 1_000, 1_700_000_000_001, 1_700_000_000_999, 4_855_000_000_123} {
		got, err := parseScore(Score(ms))
		require.NoError(t, err)
		require.Equal(t, ms, got)
	}
	got, err := parseScore("1700000000.1229999") // as an old Redis may print it
	require.NoError(t, err)
	require.Equal(t, world.Millis(1_700_000_000_123), got)
	_, err = parseScore("x")
	require.Error(t, err)
}
