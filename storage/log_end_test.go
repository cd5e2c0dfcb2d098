package storage

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/redistest"
	"github.com/world-redis/world-redis/storage/internal/paging"
	"github.com/world-redis/world-redis/storage/storagetest"
)

// snapshot is the content of a run's keys at one time, for a Redis that has lost what came later.
type snapshot struct {
	hashes map[string]map[string]string
	zsets  map[string][]redis.Z
}

func (b *bundle) snapshot(runID string) snapshot {
	b.t.Helper()
	m := snapshot{hashes: map[string]map[string]string{}, zsets: map[string][]redis.Z{}}
	for _, key := range b.keysLike(b.keys.prefix + "*") {
		if !strings.Contains(key, "{"+runID+"}") || strings.Contains(key, "hook_fence:") {
			continue // the latter says which claims are void, and a claim that was withdrawn is
		}
		kind, err := b.redis.Client.Type(b.ctx, key).Result()
		require.NoError(b.t, err)
		switch kind {
		case "hash":
			m.hashes[key], err = b.redis.Client.HGetAll(b.ctx, key).Result()
		case "zset":
			m.zsets[key], err = b.redis.Client.ZRangeWithScores(b.ctx, key, 0, -1).Result()
		default:
			b.t.Fatalf("%s is a %s", key, kind)
		}
		require.NoError(b.t, err)
	}
	return m
}

// backTo restores the keys of a run to a snapshot.
func (b *bundle) backTo(runID string, m snapshot) {
	b.t.Helper()
	now := b.snapshot(runID)
	for key := range now.hashes {
		require.NoError(b.t, b.redis.Client.Del(b.ctx, key).Err())
	}
	for key := range now.zsets {
		require.NoError(b.t, b.redis.Client.Del(b.ctx, key).Err())
	}
	for key, fields := range m.hashes {
		require.NoError(b.t, b.redis.Client.HSet(b.ctx, key, fields).Err())
	}
	for key, members := range m.zsets {
		require.NoError(b.t, b.redis.Client.ZAdd(b.ctx, key, members...).Err())
	}
}

// waits appends n events that are valid at any point of a log, at a later time.
func (b *bundle) waits(runID, name string, n int) {
	b.t.Helper()
	b.clock.Add(time.Second)
	for i := range n {
		b.send(runID, world.EventWaitCreated, fmt.Sprintf("wait_%s_%d", name, i), sample(b, world.EventWaitCreated))
	}
}

func (b *bundle) endOfLog(runID string) *world.LogEnd {
	b.t.Helper()
	log := b.events(runID)
	return &world.LogEnd{Position: len(log) - 1, CreatedAt: log[len(log)-1].CreatedAt}
}

// A log that has lost the last event that the caller has seen accepts no event of that caller, of any type: neither
// when the log is shorter, nor when it has other events in that place by now. Nothing is written. A caller that names
// no event, or one that is still there, is served.
func TestALogThatLostItsEndTakesNothing(t *testing.T) {
	t.Parallel()
	for _, spec := range []int{3, 7} {
		t.Run(fmt.Sprintf("spec %d", spec), func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
				shared := newBundle(t, r)
				for eventType, entry := range storagetest.EveryRepeatable(spec) {
					if eventType == world.EventRunCreated {
						continue // before it there is no log
					}
					t.Run(string(eventType), func(t *testing.T) { testLostEnd(shared.on(t, spec), eventType, sceneOf(entry.From)) })
				}
			})
		})
	}
}

func testLostEnd(b *bundle, eventType world.EventType, from scene) {
	b.t.Helper()
	runID := from(b)
	before := b.snapshot(runID)
	b.waits(runID, "lost", 2)
	lost := b.endOfLog(runID)
	b.waits(runID, "last", 1)

	req := b.request(runID, eventType, storagetest.CorrelationOf(eventType), sample(b, eventType))
	for name, becomes := range map[string]func(){
		"shorter by all":      func() {},
		"shorter by one":      func() { b.waits(runID, "other", 1) },
		"as long":             func() { b.waits(runID, "other", 2) },
		"longer than it was":  func() { b.waits(runID, "other", 4) },
		"gone on at the time": func() { b.clock.Add(-2 * time.Second); b.waits(runID, "other", 5); b.clock.Add(2 * time.Second) },
	} {
		b.backTo(runID, before)
		becomes()
		there := b.snapshot(runID)
		req.LogEnd, req.RequestID = lost, "refused "+name
		if name == "gone on at the time" {
			req.LogEnd = &world.LogEnd{Position: lost.Position, CreatedAt: lost.CreatedAt + 1}
		}
		_, err := b.CreateEvent(b.ctx, req)
		require.Equal(b.t, world.CodePrecondition, world.ErrorCode(err), "%s: %v", name, err)
		require.Equal(b.t, there, b.snapshot(runID), name)
		b.check(runID)
	}
	if eventType == world.EventHookCreated || eventType == retained {
		_, err := b.GetHookByToken(b.ctx, "token", false)
		require.Equal(b.t, world.CodeHookNotFound, world.ErrorCode(err), "the token is free")
	}

	b.finish(runID)

	for name, end := range map[string]func(kept, last *world.LogEnd) *world.LogEnd{
		"all":                          func(_, last *world.LogEnd) *world.LogEnd { return last },
		"less than there is":           func(kept, _ *world.LogEnd) *world.LogEnd { return kept },
		"a position without its time":  func(_, last *world.LogEnd) *world.LogEnd { return &world.LogEnd{Position: last.Position} },
		"nothing, as older clients do": func(_, _ *world.LogEnd) *world.LogEnd { return nil },
	} {
		runID := from(b)
		kept := b.endOfLog(runID)
		b.waits(runID, "kept", 2)
		req := b.request(runID, eventType, storagetest.CorrelationOf(eventType), sample(b, eventType))
		req.LogEnd, req.RequestID = end(kept, b.endOfLog(runID)), "r"
		first, err := b.CreateEvent(b.ctx, req)
		require.NoError(b.t, err, name)
		b.check(runID)
		req.LogEnd = &world.LogEnd{Position: 1000, CreatedAt: b.now()}
		again, err := b.CreateEvent(b.ctx, req)
		require.NoError(b.t, err, "a repeat gets its answer")
		require.Equal(b.t, first, again, name)
		b.finish(runID)
	}
}

// finish ends a run, which frees its tokens for the next one.
func (b *bundle) finish(runID string) {
	b.t.Helper()
	_, _ = b.try(runID, world.EventRunCancelled, "", nil)
	b.clock.Add(retention)
	b.sweep()
}

// A batch is refused as a whole.
func TestABatchOnALogThatLostItsEnd(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		b := newBundle(t, r).on(t, 7)
		runID := b.running()
		before := b.snapshot(runID)
		b.waits(runID, "lost", 2)
		lost := b.endOfLog(runID)
		b.backTo(runID, before)
		batch := world.CreateBatch{
			RunID: runID, RequestID: "r", LogEnd: lost,
			Events: []world.CreateEvent{b.entry(world.EventStepCreated, "step_1"), b.entry(world.EventWaitCreated, "wait_1")},
		}
		_, err := b.CreateBatch(b.ctx, batch)
		require.Equal(t, world.CodePrecondition, world.ErrorCode(err), "%v", err)
		require.Equal(t, before, b.snapshot(runID))
		batch.LogEnd = b.endOfLog(runID)
		first, err := b.CreateBatch(b.ctx, batch)
		require.NoError(t, err)
		require.Equal(t, make([]world.Code, 2), storagetest.ItemCodes(first))
		batch.LogEnd = lost
		again, err := b.CreateBatch(b.ctx, batch)
		require.NoError(t, err, "a repeat gets its answer")
		require.Equal(t, first, again)
	})
}

// If the whole run is gone, the error says that: there is nothing to replay.
func TestARunThatIsGoneIsNotFoundWhateverTheCallerHasSeen(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		b := newBundle(t, r).on(t, 7)
		req := b.request(b.ids.Prefixed("wrun_"), world.EventRunCompleted, "", sample(b, world.EventRunCompleted))
		req.LogEnd = &world.LogEnd{Position: 3, CreatedAt: b.now()}
		_, err := b.CreateEvent(b.ctx, req)
		require.Equal(t, world.CodeRunNotFound, world.ErrorCode(err))
	})
}

// A list that continues from a cursor whose event is gone, or replaced by another one, is refused, so that the SDK
// lists the log from the beginning; an event that is written with such a cursor is refused, because its caller has seen
// events that the log does not have. Cursors of earlier versions contain no time and are still accepted.
func TestACursorBehindTheEndOfALog(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		b := newBundle(t, r).on(t, 7)
		runID := b.running()
		before := b.snapshot(runID)
		kept := b.cursorAt(runID, 2)
		b.waits(runID, "lost", 2)
		lost, scope := b.cursorAt(runID, 4), paging.EventScope(runID, "")
		list := func(cursor string) (world.Page[world.Event], error) {
			return b.ListEvents(b.ctx, world.EventQuery{RunID: runID, Page: world.PageRequest{Cursor: cursor}})
		}
		page, err := list(lost)
		require.NoError(t, err)
		require.Empty(t, page.Data, "at the end of the log there is nothing more, and nothing wrong")

		for name, n := range map[string]int{"shorter": 0, "as long": 2, "longer": 4} {
			b.backTo(runID, before)
			if n > 0 {
				b.waits(runID, "other", n)
			}
			log := b.events(runID)
			_, err := list(lost)
			require.Equal(t, world.CodeInvalid, world.ErrorCode(err), "%s: %v", name, err)
			_, err = b.ListEvents(b.ctx, world.EventQuery{RunID: runID, Page: world.PageRequest{Cursor: lost, Order: world.Descending}})
			require.Equal(t, world.CodeInvalid, world.ErrorCode(err), "%s: %v", name, err)
			req := b.request(runID, world.EventStepCreated, "step_1", sample(b, world.EventStepCreated))
			req.SinceCursor = lost
			_, err = b.CreateEvent(b.ctx, req)
			require.Equal(t, world.CodePrecondition, world.ErrorCode(err), "%s: %v", name, err)

			req.LogEnd = &world.LogEnd{Position: 1, CreatedAt: log[1].CreatedAt}
			_, err = b.CreateEvent(b.ctx, req)
			require.Equal(t, world.CodePrecondition, world.ErrorCode(err), "the cursor is later than what the caller says")
			req.SinceCursor, req.LogEnd = kept, &world.LogEnd{Position: 3, CreatedAt: log[0].CreatedAt}
			_, err = b.CreateEvent(b.ctx, req)
			require.Equal(t, world.CodePrecondition, world.ErrorCode(err), "what the caller says is later than the cursor")

			_, err = list(paging.EventCursor(scope, 3))
			require.Equal(t, name == "shorter", err != nil, "%s: %v", name, err)
			for _, cursor := range []string{kept, paging.EventCursor(scope, 1)} {
				page, err = list(cursor)
				require.NoError(t, err)
				require.Equal(t, log[2:], append([]world.Event{}, page.Data...))
			}
		}
		req := b.request(runID, world.EventStepCreated, "step_1", sample(b, world.EventStepCreated))
		req.SinceCursor, req.LogEnd = kept, b.endOfLog(runID)
		_, err = b.CreateEvent(b.ctx, req)
		require.NoError(t, err)
	})
}
