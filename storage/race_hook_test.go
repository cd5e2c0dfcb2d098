package storage

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/rediskey"
	"github.com/world-redis/world-redis/internal/redistest"
	"github.com/world-redis/world-redis/storage/internal/record"
	"github.com/world-redis/world-redis/storage/storagetest"
)

// BR-08: two replays of run A create one hook while run B wants the same token. A never conflicts with itself; the
// later run gets the conflict with the earlier one.
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

// BR-09: once A's last call has returned, B may have the token; until then no hook is found by it.
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
		if storagetest.IsRunEvent(end) {
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

// BR-08, BR-09: claims, disposals and ends of many runs race for three tokens on two replicas. In any order, a token
// never has two live hooks and no claim is left over.
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

// Two calls create one hook and the first is refused, for example because another hook had its token until just before:
// its rollback does not remove what the second has written and is about to commit.
func TestRefusedHookLeavesTheOtherCallsEntries(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		b := newBundle(t, r)
		runID := b.running()
		event := data(t, "token", "shared")
		hash := rediskey.Hash("shared")
		c := b.newCall(b.request(runID, world.EventHookCreated, x, event))
		mine := record.Claim{RunID: runID, HookID: x, Nonce: "second"}
		_, err := b.reserve(b.ctx, c, hash, mine)
		require.NoError(t, err)
		require.NoError(t, b.withdraw(b.ctx, record.Claim{RunID: runID, HookID: x, Nonce: "first"}, hash))
		o, err := b.apply(b.ctx, c, b.scripts.hookCreate, []string{c.keys.hooks(), c.keys.hooksOrder(), c.keys.fence()}, mine.Nonce, hash, "")
		require.NoError(t, err)
		require.Equal(t, codeDone, o.code)
		_, err = b.GetHook(b.ctx, x, false)
		require.NoError(t, err)
		b.check(runID)
	})
}
