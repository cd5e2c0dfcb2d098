package storage

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/redistest"
	"github.com/world-redis/world-redis/storage/storagetest"
)

// cursorAt returns the cursor of a page that ends with the n-th event of the log.
func (b *bundle) cursorAt(runID string, n int) string {
	b.t.Helper()
	page, err := b.ListEvents(b.ctx, world.EventQuery{RunID: runID, Page: world.PageRequest{Limit: n}})
	require.NoError(b.t, err)
	require.Len(b.t, page.Data, n)
	return page.Cursor
}

// noise appends events that the caller has not seen.
func (b *bundle) noise(runID string, n int) {
	b.t.Helper()
	for i := range n {
		b.send(runID, world.EventStepCreated, fmt.Sprintf("other_%d_%d", len(b.events(runID)), i), sample(b, world.EventStepCreated))
	}
}

// With sinceCursor every answer contains all events after the cursor, including its own and those of others, for every
// event type. The same call again gets the same answer.
func TestSinceCursor(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		shared := newBundle(t, r)
		for eventType, entry := range storagetest.EveryRepeatable(7) {
			if eventType == world.EventRunCreated {
				continue // there is no log yet
			}
			for _, none := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/%v", eventType, none), func(t *testing.T) {
					b := shared.on(t, 7)
					runID := entry.From(b.caller())
					cursor := b.cursorAt(runID, 1)
					b.noise(runID, 25) // more than a default page
					req := b.request(runID, eventType, storagetest.CorrelationOf(eventType), sample(b, eventType))
					req.RequestID, req.SinceCursor, req.ResolveNone = "r", cursor, none
					got, err := b.CreateEvent(b.ctx, req)
					require.NoError(t, err)
					want, err := b.ListEvents(b.ctx, world.EventQuery{RunID: runID, Page: world.PageRequest{Cursor: cursor}, ResolveNone: none})
					require.NoError(t, err)
					require.Equal(t, want.Data, got.Events)
					require.Equal(t, want.Cursor, got.Cursor)
					require.NotEmpty(t, got.Cursor)
					require.False(t, got.HasMore)
					require.Equal(t, got.Events[len(got.Events)-1], *got.Event)

					_, err = b.try(runID, world.EventRunCancelled, "", nil)
					require.Contains(t, []world.Code{"", world.CodeConflict}, world.ErrorCode(err))
					again, err := b.CreateEvent(b.ctx, req)
					require.NoError(t, err)
					require.Equal(t, got.Events, again.Events)
					require.Equal(t, got.Cursor, again.Cursor)
					b.clock.Add(retention)
					b.sweep()
				})
			}
		}
	})
}

// With eventCount an answer contains the events between those that the caller has and its own, and nothing if there are
// none. It never causes a refusal.
func TestEventCount(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		shared := newBundle(t, r)
		for eventType, entry := range storagetest.EveryRepeatable(7) {
			if eventType == world.EventRunCreated || eventType == world.EventRunStarted {
				continue // these carry the log itself
			}
			for _, missed := range []int{0, 1, 30} {
				t.Run(fmt.Sprintf("%s/%d", eventType, missed), func(t *testing.T) {
					b := shared.on(t, 7)
					runID := entry.From(b.caller())
					seen := int64(len(b.events(runID)))
					b.noise(runID, missed)
					req := b.request(runID, eventType, storagetest.CorrelationOf(eventType), sample(b, eventType))
					req.RequestID, req.EventCount = "r", &seen
					got, err := b.CreateEvent(b.ctx, req)
					require.NoError(t, err)
					log := b.events(runID)
					want := log[seen : len(log)-1]
					if len(want) == 0 {
						want = nil
					}
					require.Equal(t, want, got.Events)
					require.Empty(t, got.Cursor)
					require.False(t, got.HasMore)
					_, _ = b.try(runID, world.EventRunCancelled, "", nil)
					again, err := b.CreateEvent(b.ctx, req)
					require.NoError(t, err)
					require.Equal(t, got.Events, again.Events)
					b.clock.Add(retention)
					b.sweep()
				})
			}
		}
	})
}

// Unusual counts: zero, one larger than the log, and one beside a cursor, which takes precedence.
func TestOddEventCounts(t *testing.T) {
	t.Parallel()
	b := newBundle(t, redistest.New(t)).on(t, 7)
	runID := b.running()
	for i, count := range []int64{0, 1, 2, 3, 4, 1 << 40} {
		req := b.request(runID, world.EventStepCreated, fmt.Sprintf("step_%d", i), sample(b, world.EventStepCreated))
		req.EventCount = &count
		got, err := b.CreateEvent(b.ctx, req)
		require.NoError(t, err)
		var want []world.Event
		if log := b.events(runID); count >= 1 && int(count) < len(log)-1 {
			want = log[count : len(log)-1]
		}
		require.Equal(t, want, got.Events, count)
	}
	one := int64(1)
	req := b.request(runID, world.EventStepCreated, x, sample(b, world.EventStepCreated))
	req.EventCount, req.SinceCursor = &one, b.cursorAt(runID, 3)
	got, err := b.CreateEvent(b.ctx, req)
	require.NoError(t, err)
	require.Equal(t, b.events(runID)[3:], got.Events)
	require.NotEmpty(t, got.Cursor)
}

// The answer about a taken token contains the delta like any other: the first time, and when the conflict is already in
// the log.
func TestDeltaOfAConflict(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		b := newBundle(t, r).on(t, 7)
		holder, runID := b.running(), b.running()
		b.send(holder, world.EventHookCreated, "hook_1", data(t, "token", "tok"))
		cursor := b.cursorAt(runID, 1)
		for range 2 {
			b.noise(runID, 2)
			req := b.request(runID, world.EventHookCreated, "hook_2", data(t, "token", "tok"))
			req.SinceCursor = cursor
			got, err := b.CreateEvent(b.ctx, req)
			require.NoError(t, err)
			require.Equal(t, world.EventHookConflict, got.Event.Type)
			require.Nil(t, got.Hook)
			require.Equal(t, b.events(runID)[1:], got.Events)
			require.Equal(t, b.cursorAt(runID, len(b.events(runID))), got.Cursor)
			require.False(t, got.HasMore)
		}
		seen := int64(2)
		b.noise(runID, 1)
		req := b.request(runID, world.EventHookCreated, "hook_3", data(t, "token", "tok"))
		req.EventCount = &seen
		got, err := b.CreateEvent(b.ctx, req)
		require.NoError(t, err)
		log := b.events(runID)
		require.Equal(t, log[2:len(log)-1], got.Events)
	})
}

// A cursor that cannot be read, or that belongs to another run, is refused before anything is stored.
func TestUnreadableSinceCursor(t *testing.T) {
	t.Parallel()
	b := newBundle(t, redistest.New(t)).on(t, 7)
	runID, other := b.running(), b.running()
	for _, cursor := range []string{"x", "evnt_00000000000000000000000001", b.cursorAt(other, 1)} {
		for _, e := range []world.EventType{world.EventStepCreated, world.EventRunCompleted, world.EventHookCreated} {
			req := b.request(runID, e, storagetest.CorrelationOf(e), sample(b, e))
			req.SinceCursor = cursor
			_, err := b.CreateEvent(b.ctx, req)
			require.Equal(t, world.CodeInvalid, world.ErrorCode(err), "%s %s", e, cursor)
		}
	}
	require.Len(t, b.events(runID), 2)
	b.checkClaims()
}

// A run_started with a cursor returns the events after it instead of the whole log, also when it changes nothing.
func TestStartSinceCursor(t *testing.T) {
	t.Parallel()
	b := newBundle(t, redistest.New(t)).on(t, 7)
	runID := b.running()
	b.noise(runID, 3)
	req := b.request(runID, world.EventRunStarted, "", nil)
	req.SinceCursor = b.cursorAt(runID, 2)
	got, err := b.CreateEvent(b.ctx, req)
	require.NoError(t, err)
	require.Nil(t, got.Event)
	require.Equal(t, b.events(runID)[2:], got.Events)
	req.SinceCursor = b.cursorAt(runID, 5)
	got, err = b.CreateEvent(b.ctx, req)
	require.NoError(t, err)
	require.Equal(t, []world.Event{}, got.Events)
	require.Equal(t, req.SinceCursor, got.Cursor)
}

// A delta that is too big for one answer is cut: it ends at the returned cursor, and the rest can be listed from there.
// If its first event is too big, it is left out.
func TestDeltaTooBig(t *testing.T) {
	t.Parallel()
	b := newBundle(t, redistest.New(t)).on(t, 7)
	runID := b.running()
	cursor := b.cursorAt(runID, 2)
	for i := range 8 {
		b.send(runID, world.EventStepCreated, fmt.Sprintf("step_%d", i), data(t, "stepName", "add", "input", make([]byte, 1<<20)))
	}
	req := b.request(runID, world.EventWaitCreated, "wait_1", sample(b, world.EventWaitCreated))
	req.SinceCursor = cursor
	got, err := b.CreateEvent(b.ctx, req)
	require.NoError(t, err)
	require.True(t, got.HasMore)
	require.Len(t, types(got.Events), 3)
	all := got.Events
	for q := (world.EventQuery{RunID: runID, Page: world.PageRequest{Cursor: got.Cursor}}); ; {
		page, err := b.ListEvents(b.ctx, q)
		require.NoError(t, err)
		all = append(all, page.Data...)
		if q.Page.Cursor = page.Cursor; !page.HasMore {
			break
		}
	}
	require.Len(t, types(all), 9)
	for i, e := range all {
		require.Equal(t, i+3, storagetest.SlotOf(e.EventID))
	}
	req = b.request(runID, world.EventWaitCreated, "wait_2", sample(b, world.EventWaitCreated))
	req.SinceCursor, req.ResolveNone = cursor, true
	got, err = b.CreateEvent(b.ctx, req)
	require.NoError(t, err)
	require.False(t, got.HasMore)
	require.Len(t, types(got.Events), 10)

	huge := b.running()
	b.send(huge, world.EventStepCreated, x, data(t, "stepName", "add", "input", make([]byte, 5<<20)))
	req = b.request(huge, world.EventWaitCreated, "wait_1", sample(b, world.EventWaitCreated))
	req.SinceCursor = b.cursorAt(huge, 2)
	got, err = b.CreateEvent(b.ctx, req)
	require.NoError(t, err)
	require.Nil(t, got.Events)
	started, err := b.CreateEvent(b.ctx, world.CreateEvent{Type: world.EventRunCreated, SpecVersion: 7, Data: data(t,
		"deploymentId", "d", "workflowName", "w", "input", make([]byte, 9<<20))})
	require.NoError(t, err)
	require.Nil(t, b.send(started.Run.RunID, world.EventRunStarted, "", nil).Events, "nothing of the log fits")
}

// 64 callers on two replicas append to one run concurrently. The log has every slot, and each caller's delta is the log
// from its cursor to its own event, without a gap.
func TestDenseUnderConcurrency(t *testing.T) {
	t.Parallel()
	all := replicas(t, 2)
	b := all[0].on(t, 7)
	runID := b.running()
	type told struct {
		after, own int
		events     []world.Event
		counted    bool
	}
	var mu sync.Mutex
	var heard []told
	var work sync.WaitGroup
	for i := range 64 {
		on := all[i%2].on(t, 7)
		work.Go(func() {
			cursor, after := b.cursorAt(runID, 2), 2
			for n := range 6 {
				req := on.request(runID, firstStart, fmt.Sprintf("step_%d_%d", i, n), sample(on, firstStart))
				if n%2 == 1 {
					req = on.request(runID, world.EventWaitCreated, fmt.Sprintf("wait_%d_%d", i, n), sample(on, world.EventWaitCreated))
				}
				counted := n == 3
				if count := int64(after); counted {
					req.EventCount = &count
				} else {
					req.SinceCursor = cursor
				}
				got, err := on.CreateEvent(on.ctx, req)
				if err != nil {
					t.Error(err)
					return
				}
				own := storagetest.SlotOf(got.Event.EventID)
				mu.Lock()
				heard = append(heard, told{after: after, own: own, events: got.Events, counted: counted})
				mu.Unlock()
				if !counted {
					cursor, after = got.Cursor, own
				}
			}
		})
	}
	work.Wait()
	log := b.events(runID)
	require.Len(t, log, 2+64*(3*2+3))
	for i, e := range log {
		require.Equal(t, i+1, storagetest.SlotOf(e.EventID))
	}
	require.Len(t, heard, 64*6)
	for _, h := range heard {
		want := log[h.after:h.own]
		if h.counted {
			want = log[h.after : h.own-1]
		}
		require.Len(t, h.events, len(want))
		for i := range want {
			require.Equal(t, want[i], h.events[i])
		}
	}
	b.check(runID)
}
