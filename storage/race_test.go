package storage

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/rediskey"
	"github.com/world-redis/world-redis/internal/redistest"
)

// replicas returns n stores on one Redis, each with ids and connections of its own.
func replicas(t *testing.T, n int) []*bundle {
	t.Helper()
	r := redistest.New(t)
	first := newBundle(t, r)
	out := []*bundle{first}
	for range n - 1 {
		store, err := New(t.Context(), redistest.Client(t, r.Addr), Config{Prefix: r.Prefix, Clock: first.clock})
		require.NoError(t, err)
		out = append(out, &bundle{Store: store, t: t, ctx: t.Context(), redis: r, clock: first.clock})
	}
	return out
}

// together runs the calls at the same instant and returns their errors.
func together(calls ...func() error) []error {
	errs := make([]error, len(calls))
	var gate, done sync.WaitGroup
	gate.Add(1)
	for i, call := range calls {
		done.Go(func() {
			gate.Wait()
			errs[i] = call()
		})
	}
	gate.Done()
	done.Wait()
	return errs
}

func (b *bundle) call(runID string, e world.EventType, correlationID string) func() error {
	event := sample(b, e)
	return func() error {
		_, err := b.try(runID, e, correlationID, event)
		return err
	}
}

func codes(errs []error) map[world.Code]int {
	out := map[world.Code]int{}
	for _, err := range errs {
		out[world.ErrorCode(err)]++
	}
	return out
}

// BR-01: two replays of one run create the same entity at the same instant, on two replicas.
// One wins, the other gets a conflict, and so does a later redelivery.
func TestBR01RacingCreates(t *testing.T) {
	t.Parallel()
	for _, kind := range []world.EventType{world.EventStepCreated, world.EventWaitCreated, world.EventHookCreated} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			all := replicas(t, 2)
			b := all[0]
			const rounds = 500
			runID := b.running()
			for i := range rounds {
				id := fmt.Sprintf("x_%d", i)
				event := sample(b, kind)
				if kind == world.EventHookCreated {
					event = data(t, "token", "t "+id)
				}
				create := func(on *bundle) func() error {
					return func() error { _, err := on.try(runID, kind, id, event); return err }
				}
				got := codes(together(create(all[0]), create(all[1])))
				require.Equal(t, map[world.Code]int{"": 1, world.CodeConflict: 1}, got)
				if i%50 == 0 {
					require.Equal(t, world.CodeConflict, world.ErrorCode(create(all[1])()))
				}
			}
			require.Len(t, b.events(runID), rounds+2)
			b.check(runID)
		})
	}
}

// BR-02: late step_started calls race two completions; nothing stands behind the completion
// and the step never leaves its terminal state.
func TestBR02StartedAgainstCompleted(t *testing.T) {
	t.Parallel()
	all := replicas(t, 2)
	b := all[0]
	runID := b.running()
	for i := range 500 {
		id := fmt.Sprintf("step_%d", i)
		b.send(runID, world.EventStepCreated, id, sample(b, world.EventStepCreated))
		var calls []func() error
		for n := range 5 {
			calls = append(calls, all[n%2].call(runID, world.EventStepStarted, id))
		}
		for n := range 2 {
			calls = append(calls, all[n%2].call(runID, world.EventStepCompleted, id))
		}
		rand.Shuffle(len(calls), func(i, j int) { calls[i], calls[j] = calls[j], calls[i] })
		if i%2 == 0 {
			for n, call := range calls {
				calls[n] = func() error {
					<-time.After(time.Duration(rand.IntN(3000)) * time.Microsecond) //nolint:gosec // any moment does
					return call()
				}
			}
		}
		got := codes(together(calls...))
		require.Equal(t, 7, got[""]+got[world.CodeConflict])
		step, err := b.GetStep(b.ctx, runID, id, false)
		require.NoError(t, err)
		require.Equal(t, world.StepCompleted, step.Status)
		require.Equal(t, got[""], step.Attempt+1, "one acceptance a start, and one completion")
		page, err := b.ListEvents(b.ctx, world.EventQuery{RunID: runID, CorrelationID: id})
		require.NoError(t, err)
		require.Equal(t, world.EventStepCompleted, page.Data[len(page.Data)-1].Type)
		require.Len(t, page.Data, got[""]+1)
	}
	b.check(runID)
}

// BR-08: two replays of run A create one hook while run B wants the same token. A never
// conflicts with itself; whoever comes second is told who was first.
func TestBR08OwnTokenIsNoConflict(t *testing.T) {
	t.Parallel()
	all := replicas(t, 2)
	b := all[0]
	for i := range 200 {
		runA, runB := b.running(), b.running()
		token := data(t, "token", fmt.Sprintf("shared %d", i))
		results := make([]world.EventResult, 3)
		create := func(n int, runID, hookID string) func() error {
			return func() (err error) {
				results[n], err = all[n%2].try(runID, world.EventHookCreated, hookID, token)
				return err
			}
		}
		errs := together(create(0, runA, "hook_a"), create(1, runA, "hook_a"), create(2, runB, "hook_b"))
		require.NoError(t, errs[2])
		if results[2].Event.Type == world.EventHookConflict {
			require.Equal(t, map[world.Code]int{"": 1, world.CodeConflict: 1}, codes(errs[:2]))
			require.Equal(t, raw(t, runA), results[2].Event.Data.Get("conflictingRunId"))
			require.Nil(t, results[2].Hook)
		} else {
			// B was first: both calls of A get the one conflict event.
			require.Equal(t, map[world.Code]int{"": 2}, codes(errs[:2]))
			require.Equal(t, world.EventHookConflict, results[0].Event.Type)
			require.Equal(t, results[0].Event, results[1].Event)
			require.Equal(t, raw(t, runB), results[0].Event.Data.Get("conflictingRunId"))
		}
		b.check(runA, runB)
		b.send(runA, world.EventRunCancelled, "", nil)
		b.send(runB, world.EventRunCancelled, "", nil)
		b.checkClaims()
	}
}

// BR-09: the moment A's last call returns, B may have the token, and until then nobody finds
// a hook by it.
func TestBR09TokenIsFreeWhenTheCallReturns(t *testing.T) {
	t.Parallel()
	all := replicas(t, 2)
	b, other := all[0], all[1]
	ends := []world.EventType{world.EventRunCompleted, world.EventRunFailed, world.EventRunCancelled, world.EventHookDisposed}
	token := data(t, "token", "reused/ü {x}")
	for i := range 200 {
		runA, runB := b.running(), b.running()
		b.send(runA, world.EventHookCreated, "hook_a", token)
		end := ends[i%len(ends)]
		correlationID := "hook_a"
		if isRunEvent(end) {
			correlationID = ""
		}
		b.send(runA, end, correlationID, sample(b, end))
		_, err := other.GetHookByToken(b.ctx, "reused/ü {x}", false)
		require.Equal(t, world.CodeHookNotFound, world.ErrorCode(err))
		got := other.send(runB, world.EventHookCreated, "hook_b", token)
		require.Equal(t, world.EventHookCreated, got.Event.Type, "a false conflict")
		b.check(runA, runB)
		other.send(runB, world.EventRunCancelled, "", nil)
		b.checkClaims()
	}
	runA := b.running()
	b.send(runA, world.EventHookCreated, "hook_1", token)
	b.send(runA, world.EventHookDisposed, "hook_1", nil)
	require.Equal(t, world.EventHookCreated, b.send(runA, world.EventHookCreated, "hook_2", token).Event.Type)
	b.check(runA)
}

// BR-08, BR-09: claims, disposals and ends of many runs race for three tokens on two replicas. Whatever the
// order, a token never has two live hooks and no claim is left over.
func TestTokensUnderContention(t *testing.T) {
	t.Parallel()
	all := replicas(t, 2)
	b := all[0]
	var runs []string
	for range 24 {
		runs = append(runs, b.running())
	}
	var work sync.WaitGroup
	for i, runID := range runs {
		on := all[i%2]
		work.Go(func() {
			for n := range 8 {
				token := data(t, "token", fmt.Sprintf("contended %d", (i+n)%3))
				hookID := fmt.Sprintf("hook_%d_%d", i, n)
				result, err := on.try(runID, world.EventHookCreated, hookID, token)
				if err == nil && result.Hook != nil && n%2 == 0 {
					_, _ = on.try(runID, world.EventHookDisposed, hookID, nil)
				}
			}
			if i%3 == 0 {
				_, _ = on.try(runID, world.EventRunCompleted, "", nil)
			}
		})
	}
	work.Wait()
	held := map[string]string{}
	page, err := b.ListHooks(context.WithoutCancel(b.ctx), world.HookQuery{Page: world.PageRequest{Limit: 1000}})
	require.NoError(t, err)
	for _, h := range page.Data {
		require.Empty(t, held[h.Token], "%q is held twice", h.Token)
		held[h.Token] = h.HookID
	}
	b.check(runs...)
}

// BR-04: run_started brings the run's input along and races the late run_created, comes long
// before it, or comes alone. There is one run_created, it is first, and the run never lacks its
// input.
func TestBR04ResilientStart(t *testing.T) {
	t.Parallel()
	all := replicas(t, 2)
	b := all[0]
	var unraced []string
	for i := range 800 {
		runID := b.ids.Prefixed("wrun_")
		started := all[i%2].send(runID, world.EventRunStarted, "", b.runData())
		require.Equal(t, world.RunRunning, started.Run.Status)
		require.Equal(t, raw(t, []byte("in")), started.Run.Input)
		if i%2 == 0 {
			_, err := all[i/2%2].try(runID, world.EventRunCreated, "", b.runData())
			require.Equal(t, world.CodeConflict, world.ErrorCode(err))
		}
		again := b.send(runID, world.EventRunStarted, "", b.runData())
		require.Equal(t, []world.EventType{world.EventRunCreated, world.EventRunStarted}, types(again.Events))
		unraced = append(unraced, runID)
	}
	b.check(unraced...)
	for range 200 {
		runID := b.ids.Prefixed("wrun_")
		var started world.EventResult
		start := func() (err error) {
			started, err = all[1].try(runID, world.EventRunStarted, "", b.runData())
			return err
		}
		errs := together(start, all[0].call(runID, world.EventRunCreated, ""))
		require.NoError(t, errs[0])
		require.Contains(t, []world.Code{"", world.CodeConflict}, world.ErrorCode(errs[1]))
		require.Equal(t, raw(t, []byte("in")), started.Run.Input)
		require.Equal(t, []world.EventType{world.EventRunCreated, world.EventRunStarted}, types(started.Events))
		require.Nil(t, started.Event.Data)
		b.check(runID)
		page, err := b.ListRuns(b.ctx, world.RunQuery{WorkflowName: "wf", Page: world.PageRequest{Limit: 1}})
		require.NoError(t, err)
		require.Equal(t, runID, page.Data[0].RunID)
	}
}

// Two calls create one hook and the first is refused, say because its token was another's just
// before: what it takes back is not what the second has written and is about to commit.
func TestRefusedHookLeavesTheOtherCallsEntries(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		b := newBundle(t, r)
		runID := b.running()
		event := data(t, "token", "shared")
		hash := rediskey.Hash("shared")
		c := b.newCall(b.request(runID, world.EventHookCreated, x, event))
		mine := claim{runID: runID, hookID: x, nonce: "second"}
		_, err := b.reserve(b.ctx, c, hash, mine)
		require.NoError(t, err)
		require.NoError(t, b.withdraw(b.ctx, claim{runID: runID, hookID: x, nonce: "first"}, hash))
		o, err := b.apply(b.ctx, c, b.scripts.hookCreate, []string{c.keys.hooks(), c.keys.hooksOrder(), c.keys.fence()}, mine.nonce, hash, "")
		require.NoError(t, err)
		require.Equal(t, codeDone, o.code)
		_, err = b.GetHook(b.ctx, x, false)
		require.NoError(t, err)
		b.check(runID)
	})
}
