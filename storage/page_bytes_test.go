package storage

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/redisconn"
	"github.com/world-redis/world-redis/internal/redistest"
)

// mostGrowth is by how many bytes Redis's memory may grow while answers are read.
const mostGrowth = 64 << 20

// memoryOf reads fields of INFO memory.
func (b *bundle) memoryOf(field string) int {
	b.t.Helper()
	for line := range strings.Lines(b.redis.Client.Info(b.ctx, "memory").Val()) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), field+":"); ok {
			n, err := strconv.Atoi(value)
			require.NoError(b.t, err)
			return n
		}
	}
	b.t.Fatalf("no %s in INFO", field)
	return 0
}

// grows runs a function that reads, and asserts that Redis used little memory for it.
func (b *bundle) grows(read func()) {
	b.t.Helper()
	before := b.memoryOf("used_memory")
	peak := b.memoryOf("used_memory_peak")
	require.Less(b.t, peak-before, 32<<20, "the peak is not that of the writing")
	read()
	require.Less(b.t, b.memoryOf("used_memory_peak")-before, mostGrowth)
	require.Less(b.t, b.memoryOf("used_memory_lua"), mostGrowth)
}

// atOnce runs a function for several callers concurrently, and waits for all of them.
func atOnce(t *testing.T, callers int, call func(t *testing.T, n int)) {
	t.Helper()
	t.Run("callers", func(t *testing.T) {
		for n := range callers {
			t.Run(strconv.Itoa(n), func(t *testing.T) {
				t.Parallel()
				call(t, n)
			})
		}
	})
}

// ownBundle is a bundle on a server of its own.
func ownBundle(t *testing.T) *bundle {
	s := redistest.Start(t)
	return newBundle(t, &redistest.Redis{Client: redistest.Client(t, s.Addr), Addr: s.Addr, Prefix: "own:", Mode: redisconn.Standalone})
}

// filled is a payload that differs from all others.
func filled(t testing.TB, size, n int) world.Raw {
	t.Helper()
	return raw(t, bytes.Repeat([]byte{byte(n)}, size))
}

// runWith creates a run with an input of n bytes.
func (b *bundle) runWith(name string, size, n int) string {
	b.t.Helper()
	b.clock.Add(time.Millisecond)
	result := b.send("", world.EventRunCreated, "", data(b.t, "deploymentId", "dpl_1", "workflowName", name, "input", filled(b.t, size, n)))
	return result.Run.RunID
}

// pages reads a list to its end page by page, and checks the size of each page.
func pages[T any](t *testing.T, order world.Order, list func(world.PageRequest) (world.Page[T], error), size func(T) int, see func(T)) int {
	t.Helper()
	p := world.PageRequest{Limit: 100, Order: order}
	for n := 1; ; n++ {
		page, err := list(p)
		require.NoError(t, err)
		require.NotEmpty(t, page.Data)
		total := 0
		for _, one := range page.Data {
			total += size(one)
			see(one)
		}
		require.True(t, total <= pageBytes || len(page.Data) == 1, "%d bytes in %d entries", total, len(page.Data))
		if !page.HasMore {
			return n
		}
		require.NotEqual(t, p.Cursor, page.Cursor)
		p.Cursor = page.Cursor
	}
}

func runBytes(r world.Run) int { return len(r.Input) + len(r.Output) + len(r.Error) }

// Many runs of 2 MiB each, listed by four callers concurrently. Every page keeps to its budget, the pages together are
// the list, and Redis does not assemble it.
func TestListsOfLargeRuns(t *testing.T) {
	t.Parallel()
	b := ownBundle(t)
	var all []string
	inputs := map[string]world.Raw{}
	for i := range 40 {
		runID := b.runWith(fmt.Sprint("wf", i%2), 2<<20, i)
		all, inputs[runID] = append(all, runID), filled(t, 2<<20, i)
	}
	check := func(t *testing.T, name string, order world.Order) {
		t.Helper()
		var got []string
		n := pages(t, order, func(p world.PageRequest) (world.Page[world.Run], error) {
			return b.ListRuns(b.ctx, world.RunQuery{WorkflowName: name, Statuses: []world.RunStatus{world.RunPending}, Page: p})
		}, runBytes, func(r world.Run) {
			got = append(got, r.RunID)
			require.True(t, bytes.Equal(inputs[r.RunID], r.Input))
		})
		want := slices.Clone(all)
		if name != "" {
			want = slices.DeleteFunc(want, func(id string) bool { return fmt.Sprint("wf", slices.Index(all, id)%2) != name })
		}
		if order == world.Descending {
			slices.Reverse(want)
		}
		require.Equal(t, want, got)
		require.GreaterOrEqual(t, n, len(want)/4)
	}
	b.grows(func() {
		atOnce(t, 4, func(t *testing.T, n int) {
			check(t, []string{"", "wf1"}[n%2], []world.Order{world.Ascending, world.Descending}[n/2])
		})
	})
	b.grows(func() {
		for left := all; len(left) > 0; {
			got, err := b.GetRuns(b.ctx, left, false)
			require.NoError(t, err)
			require.NotEmpty(t, got)
			require.LessOrEqual(t, len(got), 4)
			for i, run := range got {
				require.Equal(t, left[i], run.RunID)
				require.Len(t, run.Input, 2<<20+5)
			}
			left = left[len(got):]
		}
	})
	page, err := b.ListRuns(b.ctx, world.RunQuery{Page: world.PageRequest{Limit: 100}, ResolveNone: true})
	require.NoError(t, err)
	require.Len(t, page.Data, 40, "without payloads there is room for all")
}

// An entry that is larger than a page is alone on its page, between small ones. Without payloads it is as small as they
// are.
func TestAnEntryLargerThanAPage(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		b := newBundle(t, r)
		want := []string{b.runWith("wf", 10, 1), b.runWith("wf", 9<<20, 2), b.runWith("wf", 3000, 3)}
		legacy, err := b.CreateLegacyRun(b.ctx, world.CreateLegacyRun{DeploymentID: "dpl_1", WorkflowName: "wf", Input: filled(t, 9<<20, 4)})
		require.NoError(t, err)
		want = append(want, legacy.RunID)
		for order, reversed := range map[world.Order]bool{world.Ascending: false, world.Descending: true} {
			var got []string
			sizes := map[string]int{}
			n := pages(t, order, func(p world.PageRequest) (world.Page[world.Run], error) {
				return b.ListRuns(b.ctx, world.RunQuery{Page: p})
			}, runBytes, func(r world.Run) { got, sizes[r.RunID] = append(got, r.RunID), len(r.Input) })
			if reversed {
				slices.Reverse(got)
			}
			require.Equal(t, want, got)
			require.Equal(t, map[string]int{want[0]: 11, want[1]: 9<<20 + 5, want[2]: 3003, want[3]: 9<<20 + 5}, sizes)
			require.Equal(t, 4, n)
		}
		for i, first := range []int{1, 1, 1, 1} {
			got, err := b.GetRuns(b.ctx, want[i:], false)
			require.NoError(t, err)
			require.Len(t, got, first)
			one, err := b.GetRun(b.ctx, want[i], false)
			require.NoError(t, err)
			require.True(t, bytes.Equal(one.Input, got[0].Input))
		}
		got, err := b.GetRuns(b.ctx, want, true)
		require.NoError(t, err)
		require.Len(t, got, 4)
	})
}

// Any part of an entity may be large: an error is in the record itself, and a legacy entity has its values in its hash.
func TestListsOfLargeSteps(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		b := newBundle(t, r).on(t, 7)
		runID := b.running()
		var want []string
		for i := range 24 {
			b.clock.Add(time.Millisecond)
			id := fmt.Sprintf("step_%02d", i)
			want = append(want, id)
			switch i % 3 {
			case 0:
				b.send(runID, world.EventStepCreated, id, data(t, "stepName", id, "input", filled(t, 1<<20, i)))
			case 1:
				b.send(runID, world.EventStepCreated, id, data(t, "stepName", id, "input", filled(t, 10, i)))
				b.send(runID, world.EventStepStarted, id, nil)
				b.send(runID, world.EventStepFailed, id, data(t, "error", filled(t, 1<<20, i)))
			default:
				b.send(runID, world.EventStepCreated, id, data(t, "stepName", id, "input", filled(t, 2000, i)))
				b.send(runID, world.EventStepStarted, id, nil)
				b.send(runID, world.EventStepCompleted, id, data(t, "result", filled(t, 1<<20, i)))
			}
		}
		size := func(s world.Step) int { return len(s.Input) + len(s.Output) + len(s.Error) }
		for _, order := range []world.Order{world.Ascending, world.Descending} {
			var got []string
			n := pages(t, order, func(p world.PageRequest) (world.Page[world.Step], error) {
				return b.ListSteps(b.ctx, world.StepQuery{RunID: runID, Page: p})
			}, size, func(s world.Step) {
				got = append(got, s.StepID)
				one, err := b.GetStep(b.ctx, runID, s.StepID, false)
				require.NoError(t, err)
				require.True(t, one.StepName == s.StepID && bytes.Equal(one.Input, s.Input) && bytes.Equal(one.Output, s.Output) && bytes.Equal(one.Error, s.Error))
				require.Greater(t, size(s), 1<<20)
			})
			if order == world.Descending {
				slices.Reverse(got)
			}
			require.Equal(t, want, got)
			require.Equal(t, 4, n, "seven of a bit more than 1 MiB in a page")
		}
		// Errors are returned without payloads, too.
		page, err := b.ListSteps(b.ctx, world.StepQuery{RunID: runID, Page: world.PageRequest{Limit: 100}, ResolveNone: true})
		require.NoError(t, err)
		require.Less(t, len(page.Data), 24)
		require.True(t, page.HasMore)
		for _, s := range page.Data {
			require.Nil(t, s.Input)
			require.Nil(t, s.Output)
		}
		events := func(none bool) (got []world.Event) {
			for _, order := range []world.Order{world.Ascending, world.Descending} {
				var log []world.Event
				pages(t, order, func(p world.PageRequest) (world.Page[world.Event], error) {
					return b.ListEvents(b.ctx, world.EventQuery{RunID: runID, Page: p, ResolveNone: none})
				}, eventBytes, func(e world.Event) { log = append(log, e) })
				if order == world.Descending {
					slices.Reverse(log)
					require.Equal(t, eventIDs(got), eventIDs(log))
				}
				got = log
			}
			return got
		}
		log, bare := events(false), events(true)
		require.Len(t, eventIDs(log), 2+8+3*16)
		require.Equal(t, eventIDs(log), eventIDs(bare))
		for i, e := range log {
			require.True(t, slices.EqualFunc(withoutPayload(e).Data, bare[i].Data, func(a, b world.Field) bool { return a.Key == b.Key && bytes.Equal(a.Value, b.Value) }), e.Type)
			one, err := b.GetEvent(b.ctx, runID, e.EventID, false)
			require.NoError(t, err)
			require.Equal(t, eventBytes(e), eventBytes(one))
			one, err = b.GetEvent(b.ctx, runID, e.EventID, true)
			require.NoError(t, err)
			require.Equal(t, eventBytes(bare[i]), eventBytes(one))
		}
	})
}

func eventBytes(e world.Event) int {
	n := 0
	for _, f := range e.Data {
		n += len(f.Value)
	}
	return n
}

// A log of large errors and payloads, read by four callers: as events of the run, as events of one entity, and as part
// of an answer.
func TestLogOfLargeEvents(t *testing.T) {
	t.Parallel()
	b := ownBundle(t).on(t, 7)
	runID := b.running()
	b.send(runID, world.EventHookCreated, "hook_1", data(t, "token", "tok", "metadata", filled(t, 1<<20, 1)))
	b.send(runID, world.EventStepCreated, x, data(t, "stepName", "add", "input", filled(t, 100, 1)))
	for i := range 30 {
		b.send(runID, world.EventHookReceived, "hook_1", data(t, "payload", filled(t, 1<<20, i)))
		b.send(runID, world.EventStepStarted, x, nil)
		b.send(runID, world.EventStepRetrying, x, data(t, "error", filled(t, 1<<20, i)))
	}
	count := func(t *testing.T, q world.EventQuery) (n int) {
		t.Helper()
		pages(t, q.Page.Order, func(p world.PageRequest) (world.Page[world.Event], error) {
			q.Page = p
			return b.ListEvents(b.ctx, q)
		}, eventBytes, func(world.Event) { n++ })
		return n
	}
	b.grows(func() {
		atOnce(t, 4, func(t *testing.T, n int) {
			b := b.on(t, 7)
			page := world.PageRequest{Order: []world.Order{world.Ascending, world.Descending}[n%2]}
			require.Equal(t, 31, count(t, world.EventQuery{RunID: runID, CorrelationID: "hook_1", Page: page}))
			require.Equal(t, 61, count(t, world.EventQuery{RunID: runID, CorrelationID: x, Page: page}))
			require.LessOrEqual(t, 94, count(t, world.EventQuery{RunID: runID, Page: page}))
			require.LessOrEqual(t, 94, count(t, world.EventQuery{RunID: runID, ResolveNone: true, Page: page}))
			got := b.send(runID, world.EventRunStarted, "", nil)
			require.True(t, got.HasMore)
			require.Len(t, types(got.Events), 7)
			seen := int64(10)
			req := b.request(runID, world.EventWaitCreated, fmt.Sprint("wait_", n), sample(b, world.EventWaitCreated))
			req.EventCount = &seen
			got, err := b.CreateEvent(b.ctx, req)
			require.NoError(t, err)
			require.True(t, got.HasMore)
			require.Len(t, types(got.Events), 5)
		})
	})
}

// Pages of hooks: their metadata may be large, and a legacy hook has a record of its own.
func TestListsOfLargeHooks(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		b := newBundle(t, r)
		runID, legacy := b.running(), b.legacyRun().RunID
		var want []string
		for i := range 10 {
			b.clock.Add(time.Millisecond)
			id := fmt.Sprintf("hook_%d", i)
			want = append(want, id)
			b.send(runID, world.EventHookCreated, id, data(t, "token", id, "metadata", filled(t, 1<<20, i)))
			b.clock.Add(time.Millisecond)
			_, err := b.CreateLegacyHook(b.ctx, world.CreateLegacyHook{RunID: legacy, HookID: id + "l", Token: id + "l", Metadata: filled(t, 1<<20, i)})
			require.NoError(t, err)
			want = append(want, id+"l")
		}
		var got []string
		n := pages(t, "", func(p world.PageRequest) (world.Page[world.Hook], error) {
			return b.ListHooks(b.ctx, world.HookQuery{Page: p})
		}, func(h world.Hook) int { return len(h.Metadata) }, func(h world.Hook) {
			got = append(got, h.HookID)
			require.Len(t, h.Metadata, 1<<20+5)
			one, err := b.GetHookByToken(b.ctx, h.Token, false)
			require.NoError(t, err)
			require.True(t, bytes.Equal(one.Metadata, h.Metadata))
		})
		require.Equal(t, want, got)
		require.Equal(t, 3, n)
	})
}

// The answer to a batch contains the steps as far as there is room, and the events in any case.
func TestBatchOfLargeSteps(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		b := newBundle(t, r).on(t, 7)
		runID := b.running()
		var starts []world.CreateEvent
		for i := range 10 {
			id := fmt.Sprintf("step_%d", i)
			b.send(runID, world.EventStepCreated, id, data(t, "stepName", "add", "input", filled(t, 1<<20, i)))
			starts = append(starts, b.entry(world.EventStepStarted, id))
		}
		for range 2 { // made, and repeated
			items := b.batch(runID, "r", starts...)
			with := 0
			for i, item := range items {
				require.Nil(t, item.Err)
				require.Equal(t, world.EventStepStarted, item.Result.Event.Type)
				if step := item.Result.Step; step != nil {
					require.True(t, bytes.Equal(filled(t, 1<<20, i), step.Input))
					with++
				}
			}
			require.Equal(t, 3, with)
		}
	})
}
