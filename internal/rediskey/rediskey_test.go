package rediskey_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis/internal/rediskey"
)

func TestSlotAgreesWithTheClusterSpecification(t *testing.T) {
	t.Parallel()
	// 12739 (0x31C3) is the check value that the specification prints for "123456789".
	require.Equal(t, 12739, rediskey.Slot("123456789"))
	require.Equal(t, rediskey.Slot("wrun_1"), rediskey.Slot("workflow:run:{wrun_1}"))
	require.Equal(t, rediskey.Slot("a"), rediskey.Slot("x:{a}:{b}"), "only the first tag counts")
	require.NotEqual(t, rediskey.Slot(""), rediskey.Slot("x{}y"), "an empty tag is no tag")
}

func TestPartKeepsHarmlessTextAndHashesTheRest(t *testing.T) {
	t.Parallel()
	require.Equal(t, "strm_01H_user", rediskey.Part("strm_01H_user"))
	for _, text := range []string{"", "a{b}", "a:b", "*", "../x", "ü", strings.Repeat("x", 257), "~"} {
		part := rediskey.Part(text)
		require.Len(t, part, 65, text)
		require.Equal(t, "~"+rediskey.Hash(text), part)
	}
}
