package redistest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis/internal/redistest"
)

func TestSlotAgreesWithTheClusterSpecification(t *testing.T) {
	t.Parallel()
	// 12739 (0x31C3) is the check value that the specification prints for "123456789".
	require.Equal(t, 12739, redistest.Slot("123456789"))
	require.Equal(t, redistest.Slot("wrun_1"), redistest.Slot("workflow:run:{wrun_1}"))
	require.Equal(t, redistest.Slot("a"), redistest.Slot("x:{a}:{b}"), "only the first tag counts")
	require.NotEqual(t, redistest.Slot(""), redistest.Slot("x{}y"), "an empty tag is no tag")
}
