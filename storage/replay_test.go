package storage

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/redistest"
)

// replayable lists every event type with a state in which it is accepted, and what happens
// to the run before the call comes again.
func replayable(spec int) map[world.EventType]struct {
	from  scene
	later []world.EventType
} {
	fresh := scene(func(b *bundle) string { return b.ids.Prefixed("wrun_") })
	pending := scene(func(b *bundle) string { return b.newRun() })
	running := scene(func(b *bundle) string { return b.running() })
	created := running.then(world.EventStepCreated)
	started := created.then(world.EventStepStarted)
	type entry = struct {
		from  scene
		later []world.EventType
	}
	all := map[world.EventType]entry{
		world.EventRunCreated:    {fresh, []world.EventType{world.EventRunStarted, world.EventRunFailed}},
		world.EventRunStarted:    {pending, []world.EventType{world.EventRunCompleted}},
		world.EventRunCompleted:  {running, nil},
		world.EventRunFailed:     {running, nil},
		world.EventRunCancelled:  {running, []world.EventType{world.EventRunCancelled}},
		world.EventStepCreated:   {running, []world.EventType{world.EventStepStarted, world.EventStepFailed}},
		world.EventStepStarted:   {created, []world.EventType{world.EventStepStarted, world.EventStepRetrying, world.EventStepStarted, world.EventStepFailed}},
		world.EventStepRetrying:  {started, []world.EventType{world.EventStepStarted, world.EventStepCompleted}},
		world.EventStepCompleted: {started, []world.EventType{world.EventRunCompleted}},
		world.EventStepFailed:    {started, []world.EventType{world.EventRunFailed}},
		world.EventHookCreated:   {running, []world.EventType{world.EventHookReceived, world.EventHookDisposed}},
		world.EventHookReceived:  {running.then(world.EventHookCreated), []world.EventType{world.EventHookReceived}},
		world.EventHookDisposed:  {running.then(world.EventHookCreated), nil},
		world.EventWaitCreated:   {running, []world.EventType{world.EventWaitCompleted}},
		world.EventWaitCompleted: {running.then(world.EventWaitCreated), nil},
	}
	if spec >= 6 {
		all[world.EventRunCreated] = entry{fresh, []world.EventType{world.EventAttrSet, world.EventRunStarted}}
		all[world.EventRunStarted] = entry{pending, []world.EventType{world.EventAttrSet}}
		all[world.EventAttrSet] = entry{pending, []world.EventType{world.EventRunStarted, world.EventRunFailed}}
		all[firstStart] = entry{running, []world.EventType{world.EventStepStarted, world.EventStepRetrying}}
		all[retained] = entry{running, []world.EventType{world.EventHookReceived, world.EventRunCompleted}}
	}
	return all
}

// The same call with the same request id changes nothing and gets the first answer, also when
// the run has moved on, and in the bucket of request ids after the first call's.
func TestSameRequestSameAnswer(t *testing.T) {
	t.Parallel()
	for _, spec := range []int{3, 7} {
		for _, none := range []bool{false, true} {
			t.Run(fmt.Sprintf("spec %d, none %v", spec, none), func(t *testing.T) {
				t.Parallel()
				redistest.Each(t, func(t *testing.T, r *redistest.Redis) { testSameRequest(t, r, spec, none) })
			})
		}
	}
}

func testSameRequest(t *testing.T, r *redistest.Redis, spec int, none bool) {
	t.Helper()
	shared := newBundle(t, r)
	for eventType, entry := range replayable(spec) {
		t.Run(string(eventType), func(t *testing.T) {
			b := shared.on(t, spec)
			runID := entry.from(b)
			req := b.request(runID, eventType, correlationOf(eventType), sample(b, eventType))
			req.RequestID, req.ResolveNone = "r1", none
			first, err := b.CreateEvent(b.ctx, req)
			require.NoError(t, err)
			for _, pass := range []string{"at once", "after more events"} {
				log := b.events(runID)
				b.clock.Add(5 * time.Minute)
				second, err := b.CreateEvent(b.ctx, req)
				require.NoError(t, err, pass)
				if eventType == world.EventRunStarted {
					page, err := b.ListEvents(b.ctx, world.EventQuery{RunID: runID, ResolveNone: none})
					require.NoError(t, err)
					require.Equal(t, page.Data, second.Events) // the log as it is now
					second.Events, second.Cursor = first.Events, first.Cursor
				}
				require.Equal(t, first, second, pass)
				require.Equal(t, log, b.events(runID), pass)
				if pass == "at once" {
					scene(func(*bundle) string { return runID }).then(entry.later...)(b)
				}
			}
			b.check(runID)
			other := req
			other.RequestID = "r2"
			_, err = b.CreateEvent(b.ctx, other)
			switch eventType {
			case world.EventRunCancelled, world.EventHookReceived:
				require.NoError(t, err)
			case world.EventRunStarted: // changes nothing while the run runs
			default:
				require.Error(t, err, "another request id is another call")
			}
			_, _ = b.try(runID, world.EventRunCancelled, "", nil) // frees the token for the next type
			b.clock.Add(retention)
			b.sweep()
		})
	}
}

// A run whose id the World mints is made once, too: the id belongs to the request.
func TestSameRequestSameRun(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		for _, spec := range []int{3, 7} {
			b := newBundle(t, r).on(t, spec)
			req := b.request("", world.EventRunCreated, "", b.runData())
			req.RequestID = fmt.Sprintf("r%d", spec)
			first, err := b.CreateEvent(b.ctx, req)
			require.NoError(t, err)
			b.clock.Add(5 * time.Minute)
			second, err := b.CreateEvent(b.ctx, req)
			require.NoError(t, err)
			require.Equal(t, first, second)
			b.check(first.Run.RunID)
			req.RequestID += "other"
			third, err := b.CreateEvent(b.ctx, req)
			require.NoError(t, err)
			require.NotEqual(t, first.Run.RunID, third.Run.RunID)
		}
	})
}

// BR-06: Redis applied the script and the answer was lost; go-redis sends it again. Each event
// stands in the log once and the caller gets the answer of the first time.
func TestBR06LostReplyAppliesOnce(t *testing.T) {
	t.Parallel()
	r := redistest.New(t)
	direct := newBundle(t, r)
	p := newProxy(t, r.Addr)
	flaky, err := New(t.Context(), redistest.Client(t, p.Addr()), Config{Prefix: r.Prefix, Clock: direct.clock})
	require.NoError(t, err)
	for _, spec := range []int{3, 7} {
		for eventType, entry := range replayable(spec) {
			t.Run(fmt.Sprintf("spec %d/%s", spec, eventType), func(t *testing.T) {
				b := direct.on(t, spec)
				runID := entry.from(b)
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
				result := through.send(runID, eventType, correlationOf(eventType), sample(b, eventType))
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

// A step_started comes again after its step has failed once more: the answer still has the
// error that the first one had, not the later one and not none.
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

// A script looks for a request id only in the buckets that there can be. A call that comes again in the next bucket finds
// what it did: to a run that is older, to one that a replica made whose clock is ahead by a bucket, and, of a batch, to a
// run that was not there yet. Each bucket has its end, however many ids came after the first.
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
		require.Equal(t, []world.Code{world.CodeRunNotFound}, itemCodes(refused))
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
