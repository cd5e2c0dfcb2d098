package archived_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
)

// endings are how runs of some spec versions end in the tests.
var endings = map[world.EventType][]int{world.EventRunCompleted: {2, 4, 7}, world.EventRunFailed: {4}, world.EventRunCancelled: {7}}

// A run reads the same before and after it moves to the archive: entities, pages and their cursors, streams.
func TestAnArchivedRunReadsTheSame(t *testing.T) {
	t.Parallel()
	for end, specs := range endings {
		for _, spec := range specs {
			t.Run(fmt.Sprint(spec, end), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				w.readsTheSame(w.ended(spec, end))
			})
		}
	}
	t.Run("from before event sourcing", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.readsTheSame(w.legacy(world.RunCompleted))
	})
}

func (w *testWorld) readsTheSame(runID string) {
	w.t.Helper()
	before := w.read(runID)
	w.move(runID)
	after := w.read(runID)
	require.Len(w.t, after, len(before))
	for what := range before {
		require.Equal(w.t, before[what], after[what], what)
	}
}
