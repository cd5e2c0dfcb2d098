package storage

import (
	"context"
	"errors"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/rediskey"
)

// check asserts what must hold for runs whatever happened to them: I1 to I4 of the fault
// catalogue, and that the lists of runs tell the truth once things are quiet.
func (b *bundle) check(runIDs ...string) {
	b.t.Helper()
	for _, runID := range runIDs {
		log := b.events(runID)
		run, err := b.GetRun(b.ctx, runID, false)
		require.NoError(b.t, err)
		b.checkLog(log)
		b.checkEntities(run, log)
	}
	b.checkLists(runIDs...)
	b.checkClaims()
}

// checkLists asserts that each run is in the list of its status and in no other, but that a pending one may be among
// the running, where a run_started has put it that came before the run.
func (b *bundle) checkLists(runIDs ...string) {
	b.t.Helper()
	b.quiet()
	status := make([]*redis.StringCmd, len(runIDs))
	entries := make([][]*redis.FloatCmd, len(runIDs))
	_, err := b.redis.Client.Pipelined(b.ctx, func(p redis.Pipeliner) error {
		for i, runID := range runIDs {
			status[i] = p.HGet(b.ctx, b.keys.of(runID).run(), "s")
			for _, list := range statuses {
				entries[i] = append(entries[i], p.ZScore(b.ctx, b.keys.runsByStatus(list), runID))
			}
		}
		return nil
	})
	require.True(b.t, err == nil || errors.Is(err, redis.Nil), "%v", err)
	for i, runID := range runIDs {
		for n, list := range statuses {
			is := status[i].Val()
			if is == string(world.RunPending) && list == world.RunRunning {
				continue
			}
			require.Equal(b.t, is == string(list), entries[i][n].Err() == nil, "run %s (%s) in the list %s", runID, is, list)
		}
	}
}

// checkLog is I1 and I2.
func (b *bundle) checkLog(log []world.Event) {
	b.t.Helper()
	require.NotEmpty(b.t, log)
	require.Equal(b.t, world.EventRunCreated, log[0].Type)
	ended := map[string]world.EventType{}
	created := map[string]bool{}
	for i, e := range log {
		if i > 0 {
			require.Greater(b.t, e.EventID, log[i-1].EventID)
			require.GreaterOrEqual(b.t, e.CreatedAt, log[i-1].CreatedAt)
			require.NotEqual(b.t, world.EventRunCreated, e.Type, "a second run_created")
		}
		kind := strings.TrimSuffix(string(e.Type), "_created")
		if kind != string(e.Type) || e.Type == world.EventHookConflict {
			require.False(b.t, created[e.CorrelationID], "%s twice for %s", e.Type, e.CorrelationID)
			created[e.CorrelationID] = true
			require.Empty(b.t, ended[""], "%s after the run ended", e.Type)
		}
		if last, over := ended[e.CorrelationID]; over {
			require.Equal(b.t, world.EventRunCancelled, last, "%s after %s of %q", e.Type, last, e.CorrelationID)
			require.Equal(b.t, world.EventRunCancelled, e.Type, "%s after %s of %q", e.Type, last, e.CorrelationID)
		}
		switch e.Type {
		case world.EventRunCompleted, world.EventRunFailed, world.EventRunCancelled, world.EventStepCompleted,
			world.EventStepFailed, world.EventHookDisposed, world.EventHookConflict, world.EventWaitCompleted:
			ended[e.CorrelationID] = e.Type
		}
		if e.Type == world.EventHookReceived || e.Type == world.EventAttrSet {
			require.Empty(b.t, ended[""], "%s after the run ended", e.Type)
		}
	}
}

// checkEntities is I3: what the entities say is what folding the events gives. It returns the steps.
func (b *bundle) checkEntities(run world.Run, log []world.Event) []world.Step {
	b.t.Helper()
	status := world.RunPending
	steps := map[string]world.Step{}
	hooks, outlive := map[string]bool{}, map[string]bool{}
	for _, e := range log {
		step := steps[e.CorrelationID]
		switch e.Type {
		case world.EventRunStarted:
			status = world.RunRunning
			require.Equal(b.t, e.CreatedAt, run.StartedAt)
		case world.EventRunCompleted:
			status = world.RunCompleted
		case world.EventRunFailed:
			status = world.RunFailed
		case world.EventRunCancelled:
			status = world.RunCancelled
		case world.EventStepCreated:
			step.Status, step.CreatedAt = world.StepPending, e.CreatedAt
		case world.EventStepStarted:
			step.Status = world.StepRunning
			step.Attempt++
			if step.StartedAt == 0 {
				step.StartedAt = e.CreatedAt
			}
		case world.EventStepRetrying:
			step.Status = world.StepPending
		case world.EventStepCompleted:
			step.Status, step.CompletedAt = world.StepCompleted, e.CreatedAt
		case world.EventStepFailed:
			step.Status, step.CompletedAt = world.StepFailed, e.CreatedAt
		case world.EventHookCreated:
			hooks[e.CorrelationID] = true
			if until, _ := millisField(e.Data, "tokenRetentionUntil"); until > b.now() {
				outlive[e.CorrelationID] = true
			}
		case world.EventHookDisposed:
			delete(hooks, e.CorrelationID)
			delete(outlive, e.CorrelationID)
		}
		if strings.HasPrefix(string(e.Type), "step_") {
			step.UpdatedAt = e.CreatedAt
			steps[e.CorrelationID] = step
		}
	}
	require.Equal(b.t, status, run.Status)
	require.Equal(b.t, status.Terminal(), run.CompletedAt != 0)
	page, err := b.ListSteps(b.ctx, world.StepQuery{RunID: run.RunID, Page: world.PageRequest{Limit: 1000}})
	require.NoError(b.t, err)
	require.Len(b.t, page.Data, len(steps))
	for _, got := range page.Data {
		want := steps[got.StepID]
		require.Equal(b.t, []any{want.Status, want.Attempt, want.CreatedAt, want.UpdatedAt, want.StartedAt, want.CompletedAt},
			[]any{got.Status, got.Attempt, got.CreatedAt, got.UpdatedAt, got.StartedAt, got.CompletedAt}, "step %s", got.StepID)
	}
	if run.Status.Terminal() {
		hooks = outlive
	}
	live, err := b.ListHooks(b.ctx, world.HookQuery{RunID: run.RunID, Page: world.PageRequest{Limit: 1000}})
	require.NoError(b.t, err)
	require.Len(b.t, live.Data, len(hooks))
	for _, hook := range live.Data {
		require.True(b.t, hooks[hook.HookID])
		got, err := b.GetHookByToken(b.ctx, hook.Token, false)
		require.NoError(b.t, err)
		require.NotNil(b.t, got.Resume)
		got.Resume = nil // the one thing that only a look-up by token has
		require.Equal(b.t, hook, got)
		require.NoError(b.t, b.redis.Client.ZScore(b.ctx, b.keys.hooksIndex(), hook.RunID+"/"+hook.HookID).Err(), "hook %s", hook.HookID)
	}
	return page.Data
}

// checkClaims is I4: every claim of a token belongs to a live hook.
func (b *bundle) checkClaims() {
	b.t.Helper()
	for _, key := range b.keysLike(b.keys.prefix + "hooks:by_token:*") {
		value, err := b.redis.Client.Get(b.ctx, key).Result()
		require.NoError(b.t, err)
		held := parseClaim(value)
		hook, err := b.GetHook(b.ctx, held.hookID, false)
		require.NoError(b.t, err, "claim %s", value)
		require.Equal(b.t, key, b.keys.claim(rediskey.Hash(hook.Token)))
	}
}

// keysLike returns the keys that fit a pattern, of every master.
func (b *bundle) keysLike(pattern string) []string {
	b.t.Helper()
	cluster, clustered := b.redis.Client.(*redis.ClusterClient)
	if !clustered {
		keys, err := b.redis.Client.Keys(b.ctx, pattern).Result()
		require.NoError(b.t, err)
		return keys
	}
	var mu sync.Mutex
	var all []string
	require.NoError(b.t, cluster.ForEachMaster(b.ctx, func(ctx context.Context, node *redis.Client) error {
		keys, err := node.Keys(ctx, pattern).Result()
		mu.Lock()
		defer mu.Unlock()
		all = append(all, keys...)
		return err
	}))
	return all
}
