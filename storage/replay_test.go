package storage

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/redistest"
	"github.com/world-redis/world-redis/storage/storagetest"
)

// BR-06: Redis applied the script and the answer was lost; go-redis sends it again. Each event is in the log once, and
// the caller gets the first answer.
func TestBR06LostReplyAppliesOnce(t *testing.T) {
	t.Parallel()
	r := redistest.New(t)
	direct := newBundle(t, r)
	p := newProxy(t, r.Addr)
	flaky, err := New(t.Context(), redistest.Client(t, p.Addr()), Config{Prefix: r.Prefix, Clock: direct.clock})
	require.NoError(t, err)
	for _, spec := range []int{3, 7} {
		for eventType, entry := range storagetest.EveryRepeatable(spec) {
			t.Run(fmt.Sprintf("spec %d/%s", spec, eventType), func(t *testing.T) {
				b := direct.on(t, spec)
				runID := entry.From(b.caller())
				before := 0
				if eventType != world.EventRunCreated {
					before = len(b.events(runID))
				}
				after := before + 1
				if eventType == firstStart {
					after++
				}
				through := (&bundle{Store: flaky, redis: r, clock: direct.clock}).on(t, spec)
				swallowed := p.swallows.Load()
				p.armed.Store(true)
				result := through.send(runID, eventType, storagetest.CorrelationOf(eventType), sample(b, eventType))
				require.Equal(t, swallowed+1, p.swallows.Load())
				log := b.events(runID)
				require.Len(t, log, after)
				require.Equal(t, log[after-1], *result.Event)
				require.Equal(t, eventType == firstStart, result.StepCreated)
				if result.Step != nil && result.Event.Type == world.EventStepStarted {
					require.Equal(t, 1, result.Step.Attempt)
				}
				b.check(runID)
				_, _ = b.try(runID, world.EventRunCancelled, "", nil)
				b.clock.Add(retention)
				b.sweep()
			})
		}
	}
}

// A step_started is repeated after its step has failed again: the answer still has the error of the first answer, not
// the later one.
func TestRepeatedStartKeepsTheErrorOfItsTime(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		for _, spec := range []int{3, 7} {
			b := newBundle(t, r).on(t, spec)
			runID := b.running()
			retrying := func(text string) {
				b.send(runID, world.EventStepRetrying, x, data(t, "stepName", "add", "error", text))
			}
			b.send(runID, world.EventStepCreated, x, sample(b, world.EventStepCreated))
			first := b.request(runID, world.EventStepStarted, x, data(t, "stepName", "add"))
			first.RequestID = fmt.Sprintf("first %d", spec)
			one, err := b.CreateEvent(b.ctx, first)
			require.NoError(t, err)
			require.Nil(t, one.Step.Error)
			retrying("the first error")
			second := first
			second.RequestID = fmt.Sprintf("second %d", spec)
			two, err := b.CreateEvent(b.ctx, second)
			require.NoError(t, err)
			require.Contains(t, string(two.Step.Error), "the first error")
			retrying("the second error")
			for req, want := range map[*world.CreateEvent]world.EventResult{&first: one, &second: two} {
				again, err := b.CreateEvent(b.ctx, *req)
				require.NoError(t, err)
				require.Equal(t, want, again)
			}
		}
	})
}

// A script looks for a request id only in the buckets that can exist. A call that is repeated in the next bucket finds
// its first answer: for a run that is older, for a run that was created by a replica whose clock is ahead by a bucket,
// and, of a batch, for a run that did not exist yet. Each bucket expires, however many ids were added after the first.
func TestRequestIDOfTheBucketBefore(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		early, late := newBundle(t, r), newBundle(t, r)
		late.clock.Add(requestSpan * time.Millisecond)
		require.Equal(t, int64(early.now())/requestSpan+1, int64(late.now())/requestSpan)
		for _, creator := range []*bundle{early, late} {
			runID := creator.newRun()
			req := early.request(runID, world.EventWaitCreated, x, sample(early, world.EventWaitCreated))
			req.RequestID = "r"
			first, err := early.CreateEvent(early.ctx, req)
			require.NoError(t, err)
			again, err := late.CreateEvent(late.ctx, req)
			require.NoError(t, err)
			require.Equal(t, first, again)
			require.Len(t, late.events(runID), 2)
		}

		runID := early.Store.ids.Prefixed("wrun_")
		batch := world.CreateBatch{RunID: runID, RequestID: "r", Events: []world.CreateEvent{early.entry(world.EventWaitCreated, x)}}
		refused, err := early.CreateBatch(early.ctx, batch)
		require.NoError(t, err)
		require.Equal(t, []world.Code{world.CodeRunNotFound}, storagetest.ItemCodes(refused))
		_, err = late.CreateEvent(late.ctx, late.request(runID, world.EventRunCreated, "", late.runData()))
		require.NoError(t, err)
		again, err := late.CreateBatch(late.ctx, batch)
		require.NoError(t, err)
		require.Equal(t, refused, again)

		for _, key := range early.keysLike(early.keys.prefix + "request:*") {
			left, err := r.Client.TTL(early.ctx, key).Result()
			require.NoError(t, err)
			require.InDelta(t, 20*time.Minute, left, float64(time.Minute), key)
		}
	})
}
