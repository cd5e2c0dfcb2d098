package httpapi

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis/httpapi/internal/operations"
)

// A route has exactly one handler.
func TestARouteHasOneHandler(t *testing.T) {
	t.Parallel()
	for _, r := range routesOf(operations.Table()) {
		ways := 0
		for _, way := range []bool{r.op != nil, r.http != nil, r.own != nil} {
			if way {
				ways++
			}
		}
		require.Equal(t, 1, ways, r.path)
	}
}
