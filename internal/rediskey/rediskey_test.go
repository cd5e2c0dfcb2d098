package rediskey_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis/internal/rediskey"
)

func TestPartKeepsHarmlessTextAndHashesTheRest(t *testing.T) {
	t.Parallel()
	require.Equal(t, "strm_01H_user", rediskey.Part("strm_01H_user"))
	for _, text := range []string{"", "a{b}", "a:b", "*", "../x", "ü", strings.Repeat("x", 257), "~"} {
		part := rediskey.Part(text)
		require.Len(t, part, 65, text)
		require.Equal(t, "~"+rediskey.Hash(text), part)
	}
}
