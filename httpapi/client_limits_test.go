package httpapi

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/httpapi/internal/bundle"
	"github.com/world-redis/world-redis/httpapi/internal/callsocket"
)

// clientLimit reads a number from the client's source, such as `const NAMES = 1000;` or one with factors.
func clientLimit(t *testing.T, file, name string) int {
	t.Helper()
	source, err := os.ReadFile(filepath.Join("..", "client", "src", file))
	require.NoError(t, err)
	found := regexp.MustCompile(`(?m)^(?:export )?const ` + name + ` = ([0-9_* ]+);$`).FindSubmatch(source)
	require.NotNil(t, found, "%s has no constant %s", file, name)
	product := 1
	for factor := range strings.SplitSeq(strings.ReplaceAll(string(found[1]), "_", ""), "*") {
		n, err := strconv.Atoi(strings.TrimSpace(factor))
		require.NoError(t, err)
		product *= n
	}
	return product
}

// The client asks for no more than the service allows, and sends no more than the service accepts.
func TestTheClientKeepsTheLimits(t *testing.T) {
	t.Parallel()
	require.Equal(t, world.MaxGetRuns, clientLimit(t, "world/runs.ts", "MOST_RUNS"))
	require.Equal(t, world.MaxPage, clientLimit(t, "world/streams.ts", "NAMES"))
	calls := clientLimit(t, "transport/bundles.ts", "MOST_CALLS")
	require.LessOrEqual(t, calls, bundle.MaxCalls)
	require.LessOrEqual(t, calls*(clientLimit(t, "transport/bundles.ts", "LARGEST_BODY")+4096), callsocket.MaxMessage, "a full bundle fits into a message of the socket")
	require.Less(t, clientLimit(t, "world/streams.ts", "BATCH_BYTES"), DefaultMaxBody)
}
