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
	"github.com/world-redis/world-redis/storage/internal/record"
)

// mostCalls is how many calls one script may make, whatever the size of a run.
const mostCalls = 2000

// plant makes a log of a run longer, and adds hooks to it, as the events of a program would have done.
// KEYS: run events related hooks hooks_order, and the list of all hooks
// ARGV: events, the record of each, with its payload inside and without, payload; hooks, their position, and the prefix of keys, ” for
// hooks that have nothing outside their run
var plant = redis.NewScript(`
local run, created = string.match(KEYS[1], '{(.*)}'), redis.call('HGET', KEYS[1], 'et')
local first, events, hooks = tonumber(redis.call('HGET', KEYS[1], 'en')), tonumber(ARGV[1]), tonumber(ARGV[5])
local function each(command, key, count, make)
  local args = {}
  for i = 1, count do
    make(i, function(value) args[#args + 1] = value end)
    if #args >= 1000 or i == count then
      redis.call(command, key, unpack(args))
      args = {}
    end
  end
end
each('HSET', KEYS[2], events, function(i, add)
  local position = first + i - 1
  add(position)
  if position % (ARGV[8] or 10) == 0 then
    add(created .. '.' .. ARGV[3])
    add(position .. '/p')
    add(ARGV[4])
  else
    add(created .. '.' .. ARGV[2])
  end
end)
each('ZADD', KEYS[3], events, function(i, add)
  add(0)
  add(string.format('hook_planted/%07d', first + i - 1))
end)
redis.call('HSET', KEYS[1], 'en', string.format('%d', first + events))
local function id(i) return string.format('hook_p%05d', i) end
each('HSET', KEYS[4], hooks, function(i, add) add(id(i)) add(ARGV[6] .. ' n' .. i .. ' h' .. i) end)
each('ZADD', KEYS[5], hooks, function(i, add) add(i) add(id(i)) end)
if ARGV[7] ~= '' then
  each('ZADD', KEYS[6], hooks, function(i, add) add(created) add(run .. '/' .. id(i)) end)
  for i = 1, hooks do
    redis.call('SET', ARGV[7] .. 'hooks:by_token:h' .. i, run .. ' ' .. id(i) .. ' n' .. i)
    redis.call('SET', ARGV[7] .. 'hook:' .. id(i), run .. ' h' .. i)
  end
end
return 0`)

const payloadMark = "PAYLOAD"

// large creates a run with so many events and hooks, of which the first hook is created in the usual way. The planted
// ones have nothing outside the slot of their run unless outside is true, which requires a single server.
func (b *bundle) large(keepsNothing bool, events, hooks int, outside bool) (runID string) {
	b.t.Helper()
	runID = b.running()
	if keepsNothing {
		runID = b.keepsNothing()
	}
	b.send(runID, firstStart, "step_1", data(b.t, "stepName", "add", "input", []byte(payloadMark)))
	token := "of " + runID
	b.send(runID, world.EventHookCreated, "hook_0"+runID, data(b.t, "token", token, "metadata", payloadMark))
	e := world.Event{Type: world.EventHookReceived, CorrelationID: "hook_planted", SpecVersion: b.caller().Version(), Data: data(b.t, "payload", payloadMark)}
	inside, _, err := record.Encode(e)
	require.NoError(b.t, err)
	e.Data = data(b.t, "payload", strings.Repeat(payloadMark, record.SplitAbove/len(payloadMark)+1))
	apart, payload, err := record.Encode(e)
	require.NoError(b.t, err)
	k, prefix := b.keys.of(runID), ""
	keys := []string{k.run(), k.events(), k.related(), k.hooks(), k.hooksOrder()}
	if outside {
		prefix, keys = b.keys.prefix, append(keys, b.keys.hooksIndex())
	}
	for ; events > 0; events -= 5000 { // a script that lasts makes others fail
		require.NoError(b.t, plant.Run(b.ctx, b.redis.Client, keys, min(events, 5000), inside, apart, payload, 0, 3, "").Err())
	}
	require.NoError(b.t, plant.Run(b.ctx, b.redis.Client, keys, 0, inside, apart, payload, hooks, 3, prefix).Err())
	return runID
}

// holdCleanups keeps the store from removing portions after its calls, as if it had died at the end of a run.
func (b *bundle) holdCleanups() {
	b.cleanups.mu.Lock()
	defer b.cleanups.mu.Unlock()
	b.cleanups.workers = cleanupsAtOnce
}

// checkGone asserts that no hook of a finished run is visible, that its token is free, and that no payload can be read
// if it keeps nothing.
func (b *bundle) checkGone(runID string, keepsNothing bool) {
	b.t.Helper()
	hookID, token := "hook_0"+runID, "of "+runID
	_, err := b.GetHook(b.ctx, hookID, false)
	require.Equal(b.t, world.CodeHookNotFound, world.ErrorCode(err))
	_, err = b.GetHookByToken(b.ctx, token, false)
	require.Equal(b.t, world.CodeHookNotFound, world.ErrorCode(err))
	hooks, err := b.ListHooks(b.ctx, world.HookQuery{RunID: runID})
	require.NoError(b.t, err)
	require.Empty(b.t, hooks.Data)
	_, err = b.try(runID, world.EventHookReceived, hookID, data(b.t, "payload", 1))
	require.Contains(b.t, []world.Code{world.CodeHookNotFound, world.CodeRunExpired}, world.ErrorCode(err))
	next := b.running()
	taken := b.send(next, world.EventHookCreated, "hook_"+next, data(b.t, "token", token))
	require.Equal(b.t, world.EventHookCreated, taken.Event.Type)
	got, err := b.GetHookByToken(b.ctx, token, false)
	require.NoError(b.t, err)
	require.Equal(b.t, next, got.RunID)
	b.send(next, world.EventRunCompleted, "", sample(b, world.EventRunCompleted))
	if !keepsNothing {
		return
	}
	var shown []any
	run, err := b.GetRun(b.ctx, runID, false)
	require.NoError(b.t, err)
	step, err := b.GetStep(b.ctx, runID, "step_1", false)
	require.NoError(b.t, err)
	runs, err := b.GetRuns(b.ctx, []string{runID}, false)
	require.NoError(b.t, err)
	page, err := b.ListEvents(b.ctx, world.EventQuery{RunID: runID, Page: world.PageRequest{Limit: 1000}})
	require.NoError(b.t, err)
	require.Greater(b.t, len(page.Data), 700)
	related, err := b.ListEvents(b.ctx, world.EventQuery{RunID: runID, CorrelationID: "hook_planted", Page: world.PageRequest{Limit: 1000}})
	require.NoError(b.t, err)
	require.GreaterOrEqual(b.t, len(related.Data), 700)
	one, err := b.GetEvent(b.ctx, runID, related.Data[500].EventID, false)
	require.NoError(b.t, err)
	late := b.request(runID, world.EventStepCompleted, "step_1", data(b.t, "stepName", "add", "result", []byte(payloadMark)))
	late.SinceCursor = paging.EventCursor(paging.EventScope(runID, ""), 0)
	news, err := b.CreateEvent(b.ctx, late)
	require.NoError(b.t, err)
	require.Greater(b.t, len(news.Events), 700)
	news.Events = news.Events[:len(news.Events)-1] // the last is the call's own, which is told what it sent
	require.Nil(b.t, run.Input)
	for _, e := range append(append(page.Data, related.Data...), news.Events...) {
		require.NotContains(b.t, string(e.Data.Get(e.Type.PayloadKey())), payloadMark, e.EventID)
	}
	shown = append(shown, run.Input, run.Output, runs[0].Input, step.Input, step.Output, one.Data.Get("payload"), news.Step.Input)
	for _, value := range shown {
		require.Empty(b.t, value)
	}
}

// checkCleared asserts that everything that should be removed of a run is removed.
func (b *bundle) checkCleared(runID string, keepsNothing bool) {
	b.t.Helper()
	k := b.keys.of(runID)
	require.Zero(b.t, b.redis.Client.Exists(b.ctx, k.hooks(), k.hooksOrder(), k.leftHooks()).Val())
	require.Equal(b.t, []any{nil, nil}, b.redis.Client.HMGet(b.ctx, k.run(), fieldCleanup, "ch").Val())
	require.NotContains(b.t, b.listed(b.keys.runsCleanup()), runID)
	for _, entry := range b.listed(b.keys.hooksIndex()) {
		require.False(b.t, strings.HasPrefix(entry, runID), entry)
	}
	if keepsNothing {
		for field, value := range b.redis.Client.HGetAll(b.ctx, k.events()).Val() {
			if strings.Contains(value, payloadMark) {
				require.Failf(b.t, "a payload is left", "%s: %.200q", field, value)
			}
		}
	}
}

// However a run of 50,000 events and 20,000 hooks ends, no script makes more than 2,000 calls. From then on its hooks
// are gone, its token is free and, with zero retention, no payload can be read, although the removal has not continued
// yet. Another replica then removes the rest.
func TestTheEndOfALargeRunIsShort(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	b := newBundle(t, &redistest.Redis{Client: redistest.Client(t, server.Addr), Addr: server.Addr, Prefix: "large:"}).on(t, 7)
	b.holdCleanups()
	const events, hooks = 50_000, 20_000
	all := ends(b)
	ways := map[bool]map[string]func(runID, request string) error{true: all, false: {"batch": all["batch"]}}
	swept := b.large(true, events, hooks, true)
	monitor := redistest.NewMonitor(t, server.Addr)
	check := func(what string) {
		work := monitor.Since()
		require.LessOrEqual(t, work.Calls, mostCalls, "%s: script %s", what, work.Script)
		require.LessOrEqual(t, work.Fields, mostCalls, what)
		require.Positive(t, work.Scripts, what)
	}
	for keepsNothing := range ways {
		for name, end := range ways[keepsNothing] {
			runID := b.running() // with a copy of what the other has
			if keepsNothing {
				runID = b.keepsNothing()
			}
			b.send(runID, world.EventHookCreated, "hook_0"+runID, data(t, "token", "of "+runID))
			from, to := b.keys.of(swept), b.keys.of(runID)
			hook := b.redis.Client.HGet(b.ctx, to.hooks(), "hook_0"+runID).Val()
			for _, pair := range [][2]string{
				{from.events(), to.events()},
				{from.related(), to.related()},
				{from.hooks(), to.hooks()},
				{from.hooksOrder(), to.hooksOrder()},
				{from.step("step_1"), to.step("step_1")},
			} {
				require.EqualValues(t, 1, b.redis.Client.Copy(b.ctx, pair[0], pair[1], 0, true).Val())
			}
			require.NoError(t, b.redis.Client.HSet(b.ctx, to.run(), "en", events).Err())
			require.NoError(t, b.redis.Client.HSet(b.ctx, to.hooks(), "hook_0"+runID, hook).Err())
			monitor.Since()
			require.NoError(t, end(runID, "end "+runID), name)
			check(name)
			_, err := b.GetHookByToken(b.ctx, "of "+runID, false)
			require.Equal(t, world.CodeHookNotFound, world.ErrorCode(err), name)
			require.NoError(t, end(runID, "end "+runID), "%s, again", name)
			check(name + ", then")
			require.NotZero(t, b.redis.Client.HLen(b.ctx, to.hooks()).Val(), "%s: the end itself removes nothing", name)
			require.Contains(t, b.listed(b.keys.runsCleanup()), runID, name)
			require.NoError(t, b.redis.Client.Unlink(b.ctx, to.hooks(), to.hooksOrder(), to.events(), to.related()).Err())
			require.NoError(t, b.redis.Client.ZRem(b.ctx, b.keys.runsCleanup(), runID).Err())
			monitor.Since()
		}
	}
	require.NoError(t, all["batch"](swept, "r"))
	b.checkGone(swept, true)
	other := newBundle(t, b.redis)
	other.clock = b.clock
	store, err := New(t.Context(), b.redis.Client, Config{Prefix: b.redis.Prefix, Clock: b.clock})
	require.NoError(t, err)
	other.Store = store
	require.Zero(t, other.sweep(), "somebody may be at it")
	b.clock.Add(2 * time.Minute)
	require.Positive(t, other.sweep())
	check("portions")
	b.checkCleared(swept, true)
	require.Zero(t, other.sweep())
	left, err := b.redis.Client.Keys(b.ctx, b.redis.Prefix+"hook*:h*").Result()
	require.NoError(t, err)
	require.Empty(t, left, "claims")
}

// Runs of spec 1 end by a call that changes them, or by run_cancelled.
func TestTheEndOfALargeLegacyRunIsShort(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	b := newBundle(t, &redistest.Redis{Client: redistest.Client(t, server.Addr), Addr: server.Addr, Prefix: "large:"}).on(t, 1)
	b.holdCleanups()
	for name, end := range map[string]func(runID string) error{
		"update": func(runID string) error {
			_, err := b.UpdateLegacyRun(b.ctx, world.UpdateLegacyRun{RunID: runID, Status: world.RunCompleted, RequestID: "r"})
			return err
		},
		"cancel": func(runID string) error {
			_, err := b.try(runID, world.EventRunCancelled, "", nil)
			return err
		},
	} {
		run, err := b.CreateLegacyRun(b.ctx, world.CreateLegacyRun{DeploymentID: "d", WorkflowName: "wf", Input: raw(t, 1)})
		require.NoError(t, err)
		hookID := "hook_0" + run.RunID
		_, err = b.CreateLegacyHook(b.ctx, world.CreateLegacyHook{RunID: run.RunID, HookID: hookID, Token: "of " + run.RunID})
		require.NoError(t, err)
		k := b.keys.of(run.RunID)
		require.NoError(t, b.redis.Client.HSet(b.ctx, k.run(), "en", 0, "et", int64(b.now())).Err())
		require.NoError(t, plant.Run(b.ctx, b.redis.Client, []string{k.run(), k.events(), k.related(), k.hooks(), k.hooksOrder(), b.keys.hooksIndex()},
			0, "", "", "", 5_000, noPosition, b.redis.Prefix).Err())
		monitor := redistest.NewMonitor(t, server.Addr)
		require.NoError(t, end(run.RunID), name)
		work := monitor.Since()
		monitor.Close()
		require.LessOrEqual(t, max(work.Calls, work.Fields), mostCalls, name)
		require.Zero(t, work.Deleted, name)
		b.on(t, 7).checkGone(run.RunID, false)
		require.NoError(t, end(run.RunID), name)
		b.clock.Add(2 * time.Minute)
		require.Equal(t, 1, b.sweep(), name)
		b.checkCleared(run.RunID, false)
	}
}

// The process that ended a large run continues the removal by itself, a portion that is repeated does no harm, hooks
// that outlive the run stay, and a process that stops leaves the rest to others.
func TestPortions(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		b := newBundle(t, r).on(t, 7)
		const events, hooks = 700, 520
		runID := b.large(true, events, hooks, false)
		until := b.clock.Now().Add(retention).UnixMilli()
		for i := range 3 { // among those that go
			b.send(runID, world.EventHookCreated, fmt.Sprintf("hook_r%d", i), data(t, "token", fmt.Sprintf("r%d", i), "tokenRetentionUntil", until))
			require.NoError(t, r.Client.ZAdd(b.ctx, b.keys.of(runID).hooksOrder(), zOf(float64(200*i), fmt.Sprintf("hook_r%d", i))).Err())
		}
		b.send(runID, world.EventRunCompleted, "", sample(b, world.EventRunCompleted))
		b.cleanups.wait()
		b.quiet()
		k := b.keys.of(runID)
		require.EqualValues(t, 3, r.Client.HLen(b.ctx, k.hooks()).Val())
		_, err := b.GetHookByToken(b.ctx, "r1", false)
		require.NoError(t, err)
		b.clock.Add(2 * time.Minute)
		require.Zero(t, b.sweep(), "nothing crashed")
		b.clock.Add(retention)
		require.Zero(t, b.sweep())
		b.checkCleared(runID, true)
		last, err := b.removePortion(b.ctx, runID)
		require.NoError(t, err)
		require.True(t, last, "there is nothing to remove any more")

		b.holdCleanups()
		runID = b.large(true, events, hooks, false)
		b.send(runID, world.EventRunFailed, "", sample(b, world.EventRunFailed))
		for n := 0; ; n++ {
			if n == 2 {
				b.checkGone(runID, true)
			}
			last, err := b.removePortion(b.ctx, runID)
			require.NoError(t, err)
			if last {
				require.Greater(t, n, 3)
				break
			}
		}
		b.checkCleared(runID, true)

		runID = b.large(false, events, hooks, false)
		b.send(runID, world.EventRunCancelled, "", nil)
		b.cleanups.stop()
		b.cleanups.mu.Lock()
		require.Equal(t, []string{runID}, b.cleanups.waiting[len(b.cleanups.waiting)-1:])
		b.cleanups.mu.Unlock()
		b.clearWaiting() // it is one of the workers from here on
		require.Zero(t, b.sweep(), "it was handed over at once, and nothing crashed")
		b.checkCleared(runID, false)
	})
}

// If a process dies between the end of a run and the entry in the list of removals, the run is still in the watch.
func TestAnEndWithoutItsEntryIsFound(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		b := newBundle(t, r).on(t, 7)
		b.holdCleanups()
		runID := b.large(true, 700, 520, false)
		b.send(runID, world.EventRunCompleted, "", sample(b, world.EventRunCompleted))
		b.quiet()
		require.NoError(t, r.Client.ZRem(b.ctx, b.keys.runsCleanup(), runID).Err())
		require.NoError(t, r.Client.ZAdd(b.ctx, b.index.Keys.Watch(), zOf(float64(b.now()), runID)).Err())
		require.NoError(t, r.Client.ZAdd(b.ctx, b.index.Keys.ByStatus(world.RunRunning), zOf(1, runID)).Err())
		b.clock.Add(2 * time.Minute)
		require.Equal(t, 1, b.sweep())
		b.clock.Add(2 * time.Minute)
		require.Equal(t, 1, b.sweep())
		b.checkCleared(runID, true)
	})
}

// Hooks that the last release left, of a run of any size, are released in portions, too.
func TestHooksLeftByTheLastRelease(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	b := newBundle(t, &redistest.Redis{Client: redistest.Client(t, server.Addr), Addr: server.Addr, Prefix: "left:"}).on(t, 7)
	for _, repeated := range []bool{true, false} {
		runID := b.large(false, 10, 1200, true)
		k := b.keys.of(runID)
		end := b.request(runID, world.EventRunCompleted, "", sample(b, world.EventRunCompleted))
		end.RequestID = "r"
		require.NoError(t, b.redis.Client.Rename(b.ctx, k.hooks(), k.leftHooks()).Err())
		require.NoError(t, b.redis.Client.Del(b.ctx, k.hooksOrder()).Err())
		require.NoError(t, b.redis.Client.HSet(b.ctx, k.run(), "s", "completed", "ca", 1).Err())
		monitor := redistest.NewMonitor(t, server.Addr)
		if repeated {
			require.NoError(t, b.releaseLeft(b.ctx, runID, record.Reply{"hook_p00001", "3 n1 h1", ""}))
		} else {
			b.clock.Add(2 * time.Minute)
			require.Positive(t, b.sweep())
		}
		work := monitor.Since()
		monitor.Close()
		require.LessOrEqual(t, max(work.Calls, work.Fields), mostCalls)
		b.checkCleared(runID, false)
	}
}
