package redisconn

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A snapshot replaces the file, so a file that is the same was not written.
func TestASnapshotIsWrittenOnlyIfSomethingHasChanged(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "snapshot")
	e, err := startEmbedded(&SnapshotFile{Path: path, Every: time.Hour})
	require.NoError(t, err)
	written := func(always bool) bool {
		before, _ := os.Stat(path)
		require.NoError(t, e.snapshot.write(always))
		after, err := os.Stat(path)
		require.NoError(t, err)
		return before == nil || !os.SameFile(before, after)
	}
	require.NoError(t, e.server.Set("k", "v"))
	require.True(t, written(false))
	require.False(t, written(false))
	e.server.SetTTL("k", time.Hour)
	require.True(t, written(false), "the key expires now")
	e.server.FastForward(time.Minute)
	require.False(t, written(false), "the clock alone is no change")
	require.True(t, written(true))
	_, err = e.server.SetAdd("set", "member")
	require.NoError(t, err)
	require.True(t, written(false))
	require.NoError(t, e.stop())
}
