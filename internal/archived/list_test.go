package archived_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
)

// listRuns reads a list to its end and returns the ids. between is called after each page.
func (w *testWorld) listRuns(q world.RunQuery, between func()) []string {
	w.t.Helper()
	out := []string{}
	for {
		page, err := w.store.ListRuns(w.t.Context(), q)
		require.NoError(w.t, err)
		for _, r := range page.Data {
			out = append(out, r.RunID)
		}
		if !page.HasMore {
			return out
		}
		require.NotEqual(w.t, q.Page.Cursor, page.Cursor)
		q.Page.Cursor = page.Cursor
		between()
	}
}

func (w *testWorld) small(name string, end world.EventType) string {
	w.t.Helper()
	return w.smallAs(w.newID(), name, end)
}

func (w *testWorld) smallAs(runID, name string, end world.EventType) string {
	w.t.Helper()
	w.event(7, runID, world.EventRunCreated, "", map[string]any{"deploymentId": "d", "workflowName": name, "input": 1})
	if end != "" {
		data := map[string]any{}
		switch end {
		case world.EventRunCompleted:
			data["output"] = 1
		case world.EventRunFailed:
			data["error"] = "e"
		}
		w.event(7, runID, end, "", data)
	}
	return runID
}

// A list goes on from Redis into the archive in one order. One that is read while runs move misses none and repeats none.
func TestListsWhileRunsMove(t *testing.T) {
	t.Parallel()
	for _, order := range []world.Order{world.Ascending, world.Descending} {
		for _, limit := range []int{1, 4} {
			t.Run(fmt.Sprint(order, limit), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				random := rand.New(rand.NewPCG(1, uint64(limit)))
				var all, ended, failed, ofA []string
				for i := range 30 {
					name, end := []string{"a", "b"}[i%2], []world.EventType{world.EventRunCompleted, world.EventRunFailed, ""}[i%3]
					runID := w.small(name, end)
					all = append(all, runID)
					if end != "" {
						ended = append(ended, runID)
					}
					if end == world.EventRunFailed {
						failed = append(failed, runID)
						if name == "a" {
							ofA = append(ofA, runID)
						}
					}
				}
				random.Shuffle(len(ended), func(i, j int) { ended[i], ended[j] = ended[j], ended[i] })
				move := func() {
					for range min(random.IntN(3), len(ended)) {
						w.move(ended[0])
						ended = ended[1:]
					}
				}
				for range 2 {
					for _, list := range []struct {
						query world.RunQuery
						want  []string
					}{
						{world.RunQuery{}, all},
						{world.RunQuery{Statuses: []world.RunStatus{world.RunFailed}}, failed},
						{world.RunQuery{WorkflowName: "a", Statuses: []world.RunStatus{world.RunFailed, world.RunRunning}}, ofA},
					} {
						list.query.Page = world.PageRequest{Limit: limit, Order: order}
						want := slices.Clone(list.want)
						if order == world.Descending {
							slices.Reverse(want)
						}
						require.Equal(t, want, w.listRuns(list.query, move))
					}
				}
			})
		}
	}
}

// A run that is in both, because it was stored and not removed yet, is listed once.
func TestARunInBothIsListedOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var all []string
	for i := range 9 {
		runID := w.small("a", world.EventRunCompleted)
		all = append(all, runID)
		if i%3 > 0 {
			require.NoError(t, w.archive.PutRuns(t.Context(), []*world.RunCopy{w.copy(runID)}))
		}
		if i%3 == 2 {
			require.NoError(t, w.redis.RemoveRun(t.Context(), runID))
		}
	}
	for limit := 1; limit < 10; limit++ {
		require.Equal(t, all, w.listRuns(world.RunQuery{Page: world.PageRequest{Limit: limit, Order: world.Ascending}}, func() {}), limit)
	}
	_, err := w.store.ListRuns(t.Context(), world.RunQuery{Page: world.PageRequest{Cursor: "x"}})
	require.Equal(t, world.CodeInvalid, world.ErrorCode(err))
	none, err := w.store.ListRuns(t.Context(), world.RunQuery{NoMatch: true})
	require.NoError(t, err)
	require.Empty(t, none.Data)
}

// A list between two times has the runs of Redis and of the archive that were created then: from the first time on, before the second.
func TestListsBetweenTimes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	begin := time.Now().Add(-time.Second).UnixMilli()
	all := make([]string, 9)
	for i := range all {
		id := ulid.MustNew(uint64(begin)+uint64(i), ulid.DefaultEntropy())
		all[i] = w.smallAs("wrun_"+id.String(), "a", world.EventRunCompleted)
		if i%2 == 0 {
			w.move(all[i])
		}
	}
	at := func(i int) world.Millis { return world.Millis(begin + int64(i)) }
	for _, order := range []world.Order{world.Ascending, world.Descending} {
		for limit := 1; limit < 5; limit++ {
			for want, q := range map[*[]string]world.RunQuery{
				ptr(all[2:7]): {CreatedFrom: at(2), CreatedBefore: at(7)},
				ptr(all[4:]):  {CreatedFrom: at(4)},
				ptr(all[:4]):  {CreatedBefore: at(4)},
				ptr(all[:0]):  {CreatedFrom: at(20)},
			} {
				q.Page = world.PageRequest{Limit: limit, Order: order}
				expected := slices.Clone(*want)
				if order == world.Descending {
					slices.Reverse(expected)
				}
				require.Equal(t, append([]string{}, expected...), w.listRuns(q, func() {}), "%s, %d a page", order, limit)
			}
		}
	}
}

func ptr(ids []string) *[]string { return &ids }
