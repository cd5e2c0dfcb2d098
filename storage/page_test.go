package storage

import (
	"encoding/base64"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/redisconn"
	"github.com/world-redis/world-redis/internal/redistest"
	"github.com/world-redis/world-redis/storage/internal/runindex"
)

// walk reads a list page by page to its end and returns all rows and the last cursor. It checks each page: its size,
// and that at least one row follows if hasMore is true.
func walk[T any](t *testing.T, order world.Order, limit, defaultLimit int, list func(world.PageRequest) (world.Page[T], error), between func()) ([]T, string) {
	t.Helper()
	var all []T
	cursor, promised := "", false
	for {
		page, err := list(world.PageRequest{Limit: limit, Cursor: cursor, Order: order})
		require.NoError(t, err)
		most := defaultLimit
		if limit > 0 {
			most = min(limit, 1000)
		}
		require.LessOrEqual(t, len(page.Data), most)
		if promised {
			require.NotEmpty(t, page.Data, "hasMore promised another row")
		}
		if len(page.Data) > 0 {
			require.NotEmpty(t, page.Cursor)
			require.NotEqual(t, cursor, page.Cursor)
			cursor = page.Cursor
		} else {
			require.Empty(t, page.Cursor)
		}
		all = append(all, page.Data...)
		if promised = page.HasMore; !promised {
			return all, cursor
		}
		require.Len(t, page.Data, most)
		if between != nil {
			between()
			between = nil
		}
	}
}

func eventIDs(events []world.Event) []string {
	out := make([]string, len(events))
	for i, e := range events {
		out[i] = e.EventID
	}
	return out
}

// BR-35: for any length of the log, limit and direction, the pages together are the log, without repetition or gap,
// also when the log grows between two pages.
func TestBR35EventPages(t *testing.T) {
	t.Parallel()
	lengths := []int{0, 1, 99, 100, 101, 999, 1000, 1001, 5000}
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		b := newBundle(t, r)
		for i, length := range append(lengths, lengths...) {
			spec := 3
			if i >= len(lengths) {
				spec = 7
			}
			if length > 101 && r.Mode == redisconn.Embedded {
				continue // the same code, and embedded Redis takes its time
			}
			t.Run(fmt.Sprintf("spec %d/%d", spec, length), func(t *testing.T) {
				b := b.on(t, spec)
				runID := b.ids.Prefixed("wrun_")
				var want []string
				add := func() {
					e, id := world.EventHookReceived, x
					if len(want) == 0 {
						e, id = world.EventRunCreated, ""
					} else if len(want) == 1 {
						e = world.EventHookCreated
					}
					want = append(want, b.send(runID, e, id, sample(b, e)).Event.EventID)
				}
				for range length {
					add()
				}
				for _, related := range []bool{false, true} {
					list := func(p world.PageRequest) (world.Page[world.Event], error) {
						q := world.EventQuery{RunID: runID, Page: p}
						if related {
							q.CorrelationID = x
						}
						return b.ListEvents(b.ctx, q)
					}
					own, defaultLimit := want, 1<<30
					if related {
						own, defaultLimit = want[min(1, len(want)):], 100
					}
					for _, limit := range []int{0, 1, 100, 1000, 1001} {
						if limit == 1 && length > 101 {
							continue
						}
						asc, cursor := walk(t, world.Ascending, limit, defaultLimit, list, nil)
						require.Len(t, asc, len(own))
						require.True(t, slices.Equal(own, eventIDs(asc)))
						desc, _ := walk(t, world.Descending, limit, defaultLimit, list, nil)
						slices.Reverse(desc)
						require.True(t, slices.Equal(own, eventIDs(desc)))
						if cursor != "" {
							idle, err := list(world.PageRequest{Cursor: cursor, Order: world.Ascending})
							require.NoError(t, err)
							require.Equal(t, world.Page[world.Event]{Data: []world.Event{}}, idle)
						}
					}
				}
				_, _ = b.try(runID, world.EventHookDisposed, x, nil)
			})
		}
	})
}

// BR-35: 50 events are appended while a reader pages through the log. In ascending order the reader gets them at the
// end; in descending order it does not get them, and they can be read from its last cursor later.
func TestBR35AppendsBetweenPages(t *testing.T) {
	t.Parallel()
	b := newBundle(t, redistest.New(t))
	runID := b.running()
	b.send(runID, world.EventHookCreated, x, sample(b, world.EventHookCreated))
	more := func() {
		for range 50 {
			b.send(runID, world.EventHookReceived, x, sample(b, world.EventHookReceived))
		}
	}
	more()
	for _, correlationID := range []string{"", x} {
		list := func(p world.PageRequest) (world.Page[world.Event], error) {
			return b.ListEvents(b.ctx, world.EventQuery{RunID: runID, CorrelationID: correlationID, Page: p})
		}
		asc, cursor := walk(t, world.Ascending, 20, 0, list, more)
		before := eventIDs(b.all(runID, correlationID))
		require.Equal(t, before, eventIDs(asc))
		more()
		next, err := list(world.PageRequest{Cursor: cursor, Limit: 1000})
		require.NoError(t, err)
		require.Len(t, next.Data, 50)

		before = eventIDs(b.all(runID, correlationID))
		desc, _ := walk(t, world.Descending, 20, 0, list, more)
		slices.Reverse(desc)
		require.Equal(t, before, eventIDs(desc))
	}
}

func (b *bundle) all(runID, correlationID string) []world.Event {
	b.t.Helper()
	page, err := b.ListEvents(b.ctx, world.EventQuery{RunID: runID, CorrelationID: correlationID, Page: world.PageRequest{Limit: 1000}})
	require.NoError(b.t, err)
	require.False(b.t, page.HasMore)
	return page.Data
}

// BR-35: a cursor that is garbage, truncated or of another list is refused as invalid.
func TestBR35ForeignCursors(t *testing.T) {
	t.Parallel()
	b := newBundle(t, redistest.New(t))
	one, two := b.running(), b.running()
	for _, runID := range []string{one, two} {
		b.send(runID, world.EventStepCreated, x, sample(b, world.EventStepCreated))
		b.send(runID, world.EventHookCreated, "hook_"+runID, data(t, "token", runID))
	}
	lists := map[string]func(cursor string) (string, error){}
	for _, runID := range []string{one, two} {
		lists["events "+runID] = func(c string) (string, error) {
			p, err := b.ListEvents(b.ctx, world.EventQuery{RunID: runID, Page: world.PageRequest{Cursor: c, Limit: 1}})
			return p.Cursor, err
		}
		lists["related "+runID] = func(c string) (string, error) {
			p, err := b.ListEvents(b.ctx, world.EventQuery{RunID: runID, CorrelationID: x, Page: world.PageRequest{Cursor: c, Limit: 1}})
			return p.Cursor, err
		}
		lists["steps "+runID] = func(c string) (string, error) {
			p, err := b.ListSteps(b.ctx, world.StepQuery{RunID: runID, Page: world.PageRequest{Cursor: c, Limit: 1}})
			return p.Cursor, err
		}
		lists["hooks "+runID] = func(c string) (string, error) {
			p, err := b.ListHooks(b.ctx, world.HookQuery{RunID: runID, Page: world.PageRequest{Cursor: c, Limit: 1}})
			return p.Cursor, err
		}
	}
	lists["runs"] = func(c string) (string, error) {
		p, err := b.ListRuns(b.ctx, world.RunQuery{Page: world.PageRequest{Cursor: c, Limit: 1}})
		return p.Cursor, err
	}
	lists["hooks"] = func(c string) (string, error) {
		p, err := b.ListHooks(b.ctx, world.HookQuery{Page: world.PageRequest{Cursor: c, Limit: 1}})
		return p.Cursor, err
	}
	cursors := map[string]string{"garbage": "garbage!", "text": "abc", "empty": base64.RawURLEncoding.EncodeToString([]byte{1})}
	for name, list := range lists {
		cursor, err := list("")
		require.NoError(t, err)
		cursors[name] = cursor
		cursors["cut "+name] = cursor[:len(cursor)/2]
	}
	for name, list := range lists {
		for of, cursor := range cursors {
			_, err := list(cursor)
			if of == name {
				require.NoError(t, err, name)
				continue
			}
			require.Equal(t, world.CodeInvalid, world.ErrorCode(err), "%s with a cursor of %s", name, of)
		}
	}
}

// BR-35 for runs, steps and hooks: rows of the same millisecond are ordered by id, a page may start after a row that is
// gone by then, and each filter pages like the whole list.
func TestBR35EntityPages(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		b := newBundle(t, r)
		var runs []string
		for i := range 105 {
			if i%10 == 0 {
				b.clock.Add(time.Millisecond)
			}
			event := b.runData()
			event[1].Value = raw(t, fmt.Sprintf("wf %d", i%2))
			runs = append(runs, b.send("", world.EventRunCreated, "", event).Run.RunID)
		}
		runID := runs[0]
		var steps, hooks []string
		for i := range 105 {
			id := fmt.Sprintf("step_%03d", i)
			b.send(runID, world.EventStepCreated, id, sample(b, world.EventStepCreated))
			steps = append(steps, id)
			id = fmt.Sprintf("hook_%03d", i)
			b.send(runID, world.EventHookCreated, id, data(t, "token", id))
			hooks = append(hooks, id)
		}
		for _, id := range runs[50:] {
			b.send(id, world.EventRunCancelled, "", nil)
		}
		reversed := func(in []string) []string {
			out := slices.Clone(in)
			slices.Reverse(out)
			return out
		}
		created := func(at int) world.Millis {
			ms, ok := runindex.Time(runs[at])
			require.True(t, ok)
			return ms
		}
		odd := func(from, to int) (out []string) {
			for i := from; i < to; i++ {
				if i%2 == 1 {
					out = append(out, runs[i])
				}
			}
			return out
		}
		limits := []int{0, 1, 20, 104, 105, 106, 1001}
		if r.Mode == redisconn.Embedded {
			limits = []int{0, 104} // the same code, and embedded Redis takes its time
		}
		for _, limit := range limits {
			for query, want := range map[*world.RunQuery][]string{
				{}:                     runs,
				{WorkflowName: "wf 1"}: odd(0, 105),
				{WorkflowName: "wf 9"}: nil,
				{Statuses: []world.RunStatus{world.RunCancelled}}:                                         runs[50:],
				{Statuses: []world.RunStatus{world.RunPending, world.RunCancelled, world.RunPending}}:     runs,
				{Statuses: []world.RunStatus{world.RunRunning}}:                                           nil,
				{WorkflowName: "wf 1", Statuses: []world.RunStatus{world.RunPending}}:                     odd(0, 50),
				{WorkflowName: "wf 1", Statuses: []world.RunStatus{world.RunPending, world.RunCancelled}}: odd(0, 105),

				{CreatedFrom: created(30)}: runs[30:],

				{CreatedBefore: created(50)}: runs[:50],

				{CreatedFrom: created(30), CreatedBefore: created(50)}: runs[30:50],
				{CreatedFrom: created(30), CreatedBefore: created(30)}: nil,

				{CreatedFrom: created(40), Statuses: []world.RunStatus{world.RunPending}}: runs[40:50],
				{NoMatch: true}: nil,
			} {
				list := func(p world.PageRequest) (world.Page[world.Run], error) {
					q := *query
					q.Page = p
					return b.ListRuns(b.ctx, q)
				}
				got, _ := walk(t, "", limit, 20, list, nil)
				require.Equal(t, reversed(append([]string{}, want...)), runIDs(got))
				got, _ = walk(t, world.Ascending, limit, 20, list, nil)
				require.Equal(t, append([]string{}, want...), runIDs(got))
			}
			gotSteps, _ := walk(t, "", limit, 20, func(p world.PageRequest) (world.Page[world.Step], error) {
				return b.ListSteps(b.ctx, world.StepQuery{RunID: runID, Page: p})
			}, nil)
			stepIDs := make([]string, len(gotSteps))
			for i, s := range gotSteps {
				stepIDs[i] = s.StepID
			}
			require.Equal(t, reversed(steps), stepIDs)
			for _, of := range []string{runID, ""} {
				gotHooks, _ := walk(t, "", limit, 100, func(p world.PageRequest) (world.Page[world.Hook], error) {
					return b.ListHooks(b.ctx, world.HookQuery{RunID: of, Page: p})
				}, nil)
				hookIDs := make([]string, len(gotHooks))
				for i, h := range gotHooks {
					hookIDs[i] = h.HookID
				}
				require.Equal(t, hooks, hookIDs)
			}
		}
		// A cursor from outside the bounds is a position like any other: what lies between it and the bounds is skipped.
		whole, err := b.ListRuns(b.ctx, world.RunQuery{Page: world.PageRequest{Limit: 1}})
		require.NoError(t, err)
		bounded, err := b.ListRuns(b.ctx, world.RunQuery{CreatedBefore: created(10), Page: world.PageRequest{Cursor: whole.Cursor}})
		require.NoError(t, err)
		require.Equal(t, reversed(runs[:10]), runIDs(bounded.Data))
		page, err := b.ListHooks(b.ctx, world.HookQuery{RunID: runID, Page: world.PageRequest{Limit: 10}})
		require.NoError(t, err)
		b.send(runID, world.EventHookDisposed, page.Data[9].HookID, nil)
		page, err = b.ListHooks(b.ctx, world.HookQuery{RunID: runID, Page: world.PageRequest{Limit: 10, Cursor: page.Cursor}})
		require.NoError(t, err)
		require.Equal(t, "hook_010", page.Data[0].HookID)
	})
}

func runIDs(runs []world.Run) []string {
	out := make([]string, len(runs))
	for i, r := range runs {
		out[i] = r.RunID
	}
	return out
}

// An unknown run has an empty log and no steps or hooks; an unknown entity has no events.
func TestUnknownIsEmpty(t *testing.T) {
	t.Parallel()
	b := newBundle(t, redistest.New(t))
	events, err := b.ListEvents(b.ctx, world.EventQuery{RunID: "wrun_none"})
	require.NoError(t, err)
	require.Equal(t, world.Page[world.Event]{Data: []world.Event{}}, events)
	events, err = b.ListEvents(b.ctx, world.EventQuery{CorrelationID: "step_none"})
	require.NoError(t, err)
	require.Equal(t, world.Page[world.Event]{Data: []world.Event{}}, events)
	steps, err := b.ListSteps(b.ctx, world.StepQuery{RunID: "wrun_none"})
	require.NoError(t, err)
	require.Equal(t, world.Page[world.Step]{Data: []world.Step{}}, steps)
	hooks, err := b.ListHooks(b.ctx, world.HookQuery{RunID: "wrun_none"})
	require.NoError(t, err)
	require.Equal(t, world.Page[world.Hook]{Data: []world.Hook{}}, hooks)
	_, err = b.GetRun(b.ctx, "wrun_none", false)
	require.Equal(t, world.CodeRunNotFound, world.ErrorCode(err))
	_, err = b.GetStep(b.ctx, "", "step_none", false)
	require.Equal(t, world.CodeStepNotFound, world.ErrorCode(err))
	_, err = b.GetHook(b.ctx, "hook_none", false)
	require.Equal(t, world.CodeHookNotFound, world.ErrorCode(err))
	_, err = b.GetEvent(b.ctx, "wrun_none", "wevt_none", false)
	require.Equal(t, world.CodeEventNotFound, world.ErrorCode(err))
}
