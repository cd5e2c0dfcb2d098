package archivetest

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/ids"
)

// list reads a list page by page and returns the ids.
func list(t *testing.T, a world.Archive, q world.ArchivedRuns) []string {
	t.Helper()
	out := []string{}
	for {
		runs, more, err := a.ListRuns(t.Context(), q)
		require.NoError(t, err)
		require.LessOrEqual(t, len(runs), q.Limit)
		for _, r := range runs {
			out = append(out, r.RunID)
		}
		if !more {
			return out
		}
		require.NotEmpty(t, runs, "a page that says that there is more has a run")
		last := runs[len(runs)-1]
		q.After = &world.ArchivePlace{MS: place(last), RunID: last.RunID}
	}
}

// place is the time in the id of a sample, or that of its creation.
func place(r world.Run) world.Millis {
	if ms, ok := ids.Time("wrun_", r.RunID); ok {
		return ms
	}
	return r.CreatedAt
}

// listed stores runs of few times with several names and states, in no order, and returns them in that of the list.
func listed(t *testing.T, a world.Archive) []world.Run {
	t.Helper()
	var runs []world.Run
	for i := range 60 {
		r := Run(RunID(At-world.Millis(i%3), i))
		if i%20 == 7 {
			r.CreatedAt = At + 1
			r.RunID = fmt.Sprintf("own-%d", i)
		}
		r.Status = []world.RunStatus{world.RunCompleted, world.RunFailed, world.RunCancelled}[i/2%3]
		r.WorkflowName = []string{"a", "b", odd, string(make([]byte, 4000))}[i%4]
		runs = append(runs, r)
	}
	for _, part := range [][]world.Run{runs[30:], runs[:30]} {
		var copies []*world.RunCopy
		for _, r := range part {
			copies = append(copies, Copy(r))
		}
		put(t, a, copies...)
	}
	slices.SortFunc(runs, func(x, y world.Run) int {
		if px, py := place(x), place(y); px != py {
			return int(px - py)
		}
		if x.RunID < y.RunID {
			return -1
		}
		return 1
	})
	return runs
}

func testListByTime(t *testing.T, a world.Archive) {
	runs := listed(t, a)
	for _, limit := range []int{1, 7, 59, 60, 61, 1000} {
		checkList(t, a, runs, world.ArchivedRuns{Limit: limit}, func(world.Run) bool { return true })
	}
}

func testListFiltered(t *testing.T, a world.Archive) {
	runs := listed(t, a)
	for _, name := range []string{"", "a", odd, string(make([]byte, 4000)), string(make([]byte, 3999)), "none"} {
		for _, statuses := range [][]world.RunStatus{nil, {world.RunFailed}, {world.RunFailed, world.RunCompleted}, {world.RunRunning}} {
			checkList(t, a, runs, world.ArchivedRuns{Limit: 4, WorkflowName: name, Statuses: statuses}, func(r world.Run) bool {
				return (name == "" || r.WorkflowName == name) && (statuses == nil || slices.Contains(statuses, r.Status))
			})
		}
	}
}

func checkList(t *testing.T, a world.Archive, runs []world.Run, q world.ArchivedRuns, is func(world.Run) bool) {
	t.Helper()
	want := []string{}
	for _, r := range runs {
		if is(r) {
			want = append(want, r.RunID)
		}
	}
	q.Order = world.Ascending
	require.Equal(t, want, list(t, a, q), q)
	slices.Reverse(want)
	q.Order = world.Descending
	require.Equal(t, want, list(t, a, q), q)
}
