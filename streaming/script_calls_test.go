package streaming_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/redistest"
)

// mostCalls is how many Redis calls one script may make.
const mostCalls = 2000

// No script makes more than 2,000 calls, however many chunks are written or read in one call, and whatever their sizes.
func TestScriptsOfStreamsAreShort(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := start(t, redistest.Client(t, server.Addr), "calls:", neverAudit)
	monitor := redistest.NewMonitor(t, server.Addr)
	check := func(what string) {
		work := monitor.Since()
		require.Positive(t, work.Scripts, what)
		require.Greater(t, work.Calls, 900, "%s: it is the largest that there is", what)
		require.LessOrEqual(t, work.Calls, mostCalls, what)
	}
	const count = 2500
	small := make([][]byte, count)
	for i := range small {
		small[i] = []byte("x")
	}
	_, err := s.AppendChunks(t.Context(), world.Append{
		Name: "st", RunID: "wrun_1", WriterID: "w", Chunks: small, Steps: []world.StreamStep{{ID: "step_1", Attempt: 1}},
	})
	require.NoError(t, err)
	check("append")
	// One by one, because each may be as large as the last.
	_, err = s.AppendChunks(t.Context(), world.Append{Name: "st", RunID: "wrun_1", Chunks: [][]byte{make([]byte, 900_000)}})
	require.NoError(t, err)
	monitor.Since()
	page, err := s.ListChunks(t.Context(), "st", world.PageRequest{Limit: 1000})
	require.NoError(t, err)
	require.Len(t, page.Data, 1000)
	check("page")
}
