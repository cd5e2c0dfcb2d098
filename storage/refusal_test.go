package storage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/redistest"
)

// The messages that the SDK and its users rely on.
func TestRefusalMessages(t *testing.T) {
	t.Parallel()
	b := newBundle(t, redistest.New(t))
	refused := func(runID string, e world.EventType, id string, f world.Fields) *world.Error {
		t.Helper()
		_, err := b.try(runID, e, id, f)
		var refusal *world.Error
		require.ErrorAs(t, err, &refusal)
		return refusal
	}
	e := refused("wrun_none", world.EventRunStarted, "", nil)
	require.Equal(t, `Workflow run "wrun_none" not found`, e.Message)
	require.Equal(t, "wrun_none", e.RunID)

	runID := b.running()
	require.Equal(t, fmt.Sprintf("Workflow run %q already exists", runID), refused(runID, world.EventRunCreated, "", b.runData()).Message)
	require.Equal(t, `Step "step_9" not found`, refused(runID, world.EventStepStarted, "step_9", nil).Message)
	require.Equal(t, `Wait "wait_9" not found`, refused(runID, world.EventWaitCompleted, "wait_9", nil).Message)
	require.Equal(t, "hook_9", refused(runID, world.EventHookReceived, "hook_9", nil).Token)
	b.send(runID, world.EventStepCreated, x, sample(b, world.EventStepCreated))
	require.Equal(t, `Step "x_1" already exists`, refused(runID, world.EventStepCreated, x, sample(b, world.EventStepCreated)).Message)
	b.send(runID, world.EventStepCompleted, x, sample(b, world.EventStepCompleted))
	require.Equal(t, `Cannot modify step in terminal state "completed"`, refused(runID, world.EventStepFailed, x, sample(b, world.EventStepFailed)).Message)
	b.send(runID, world.EventRunCompleted, "", nil)
	require.Equal(t, `Cannot transition run from terminal state "completed"`, refused(runID, world.EventRunCancelled, "", nil).Message)
	require.Equal(t, `Cannot create new entities on run in terminal state "completed"`,
		refused(runID, world.EventStepCreated, "step_2", sample(b, world.EventStepCreated)).Message)
	e = refused(runID, world.EventRunStarted, "", nil)
	require.Equal(t, fmt.Sprintf("Workflow run %q is already in terminal state %q", runID, "completed"), e.Message)
	require.Equal(t, runID, e.RunID)
}

// A step that waits for its retry cannot start earlier; the answer says how many whole seconds are left. Its start
// removes retryAfter.
func TestRetryAfter(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		b := newBundle(t, r)
		runID := b.running()
		b.send(runID, world.EventStepCreated, x, sample(b, world.EventStepCreated))
		b.send(runID, world.EventStepStarted, x, nil)
		due := b.now() + 5000
		step := b.send(runID, world.EventStepRetrying, x, data(t, "error", "e", "retryAfter", float64(due))).Step
		require.Equal(t, due, step.RetryAfter)
		require.Equal(t, world.StepPending, step.Status)
		require.Equal(t, 1, step.Attempt)
		for _, c := range []struct {
			pass    time.Duration
			seconds int
		}{{0, 5}, {time.Millisecond, 5}, {999 * time.Millisecond, 4}, {3999 * time.Millisecond, 1}} {
			b.clock.Add(c.pass)
			_, err := b.try(runID, world.EventStepStarted, x, nil)
			var refusal *world.Error
			require.ErrorAs(t, err, &refusal)
			require.Equal(t, world.CodeTooEarly, refusal.Code)
			require.Equal(t, c.seconds, refusal.RetryAfter)
		}
		b.clock.Add(time.Millisecond)
		step = b.send(runID, world.EventStepStarted, x, nil).Step
		require.Equal(t, 2, step.Attempt)
		require.Zero(t, step.RetryAfter)
		require.NotNil(t, step.Error, "the error of an earlier attempt stays")
		b.send(runID, world.EventStepRetrying, x, data(t, "error", "e", "retryAfter", int64(b.now()+5000)))
		step = b.send(runID, world.EventStepRetrying, x, data(t, "error", "e")).Step
		require.Zero(t, step.RetryAfter, "no retryAfter clears an earlier one")
		b.check(runID)
	})
}

// A client mints run ids itself; its clock may be up to a day behind and five minutes ahead.
func TestRunIDWindow(t *testing.T) {
	t.Parallel()
	b := newBundle(t, redistest.New(t))
	now := b.clock.Now()
	id := func(at time.Time) string { return ulid.MustNew(ulid.Timestamp(at), ulid.DefaultEntropy()).String() }
	for name, c := range map[string]struct {
		runID string
		want  world.Code
	}{
		"a day old":            {"wrun_" + id(now.Add(-24*time.Hour)), ""},
		"more than a day":      {"wrun_" + id(now.Add(-24*time.Hour-time.Millisecond)), world.CodeInvalid},
		"five minutes ahead":   {"wrun_" + id(now.Add(5*time.Minute)), ""},
		"more than that":       {"wrun_" + id(now.Add(5*time.Minute+time.Millisecond)), world.CodeInvalid},
		"without its prefix":   {id(now), ""},
		"no ULID":              {"wrun_1", world.CodeInvalid},
		"another prefix":       {"run_" + id(now), world.CodeInvalid},
		"out of the alphabet":  {"wrun_" + strings.Repeat("U", 26), world.CodeInvalid},
		"braces":               {"wrun_{1}", world.CodeInvalid},
		"a path":               {"../x", world.CodeInvalid},
		"longer than a key is": {strings.Repeat("x", 257), world.CodeInvalid},
	} {
		_, err := b.try(c.runID, world.EventRunCreated, "", b.runData())
		require.Equal(t, c.want, world.ErrorCode(err), "%s: %v", name, err)
	}
	// A resilient start may be older: the queue may have held the message for long.
	_, err := b.try("wrun_"+id(now.Add(-72*time.Hour)), world.EventRunStarted, "", b.runData())
	require.NoError(t, err)
}

// Invalid input is refused without a call to Redis.
func TestBadInput(t *testing.T) {
	t.Parallel()
	b := newBundle(t, redistest.New(t))
	runID := b.running()
	for name, req := range map[string]world.CreateEvent{
		"no run id":           {Type: world.EventRunStarted},
		"an unknown type":     {RunID: runID, Type: "step_exploded", CorrelationID: x},
		"a world's own type":  {RunID: runID, Type: world.EventHookConflict, CorrelationID: x},
		"noop":                {RunID: runID, Type: world.EventNoop},
		"no correlation id":   {RunID: runID, Type: world.EventStepStarted},
		"a bad one":           {RunID: runID, Type: world.EventStepStarted, CorrelationID: "a/b"},
		"no step name":        {RunID: runID, Type: world.EventStepCreated, CorrelationID: x, Data: data(t, "input", []byte{1})},
		"no token":            {RunID: runID, Type: world.EventHookCreated, CorrelationID: x},
		"no resumeAt":         {RunID: runID, Type: world.EventWaitCreated, CorrelationID: x, Data: data(t, "resumeAt", "soon")},
		"retryAfter in words": {RunID: runID, Type: world.EventStepRetrying, CorrelationID: x, Data: data(t, "retryAfter", "soon")},
		"no workflow name":    {Type: world.EventRunCreated, Data: data(t, "deploymentId", "d", "input", []byte{1})},
	} {
		_, err := b.CreateEvent(b.ctx, req)
		require.Equal(t, world.CodeInvalid, world.ErrorCode(err), "%s: %v", name, err)
	}
	require.Len(t, b.events(runID), 2)
	_, err := b.GetRun(b.ctx, "a{b}", false)
	require.Equal(t, world.CodeInvalid, world.ErrorCode(err))
	_, err = b.GetStep(b.ctx, runID, "a b", false)
	require.Equal(t, world.CodeInvalid, world.ErrorCode(err))
	_, err = b.GetHook(b.ctx, "", false)
	require.Equal(t, world.CodeInvalid, world.ErrorCode(err))
	_, err = b.ListRuns(b.ctx, world.RunQuery{Statuses: []world.RunStatus{"sleeping"}})
	require.Equal(t, world.CodeInvalid, world.ErrorCode(err))
}

// If Redis is unavailable or cannot serve a call, the error says to try again, and never shows Redis's own message.
func TestRedisTroubleIsUnavailable(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	client := redis.NewClient(&redis.Options{Addr: server.Addr, ContextTimeoutEnabled: true, MaxRetries: -1})
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	store, err := New(t.Context(), client, Config{})
	require.NoError(t, err)
	b := &bundle{Store: store, t: t, ctx: t.Context(), redis: &redistest.Redis{Client: client}}
	runID := b.running()
	unavailable := func() {
		t.Helper()
		_, err := b.try(runID, world.EventStepCreated, x, sample(b, world.EventStepCreated))
		var refusal *world.Error
		require.ErrorAs(t, err, &refusal)
		require.Equal(t, world.CodeUnavailable, refusal.Code, "%v", err)
		require.Equal(t, 1, refusal.RetryAfter)
		require.NotContains(t, refusal.Message, "OOM")
		_, err = b.GetRun(b.ctx, runID, false)
		require.Contains(t, []world.Code{"", world.CodeUnavailable}, world.ErrorCode(err))
	}
	require.NoError(t, client.ConfigSet(b.ctx, "maxmemory", "1").Err())
	unavailable()
	require.NoError(t, client.ConfigSet(b.ctx, "maxmemory", "0").Err())
	require.NoError(t, client.Do(b.ctx, "REPLICAOF", "127.0.0.1", "1").Err())
	unavailable()
	require.NoError(t, client.Do(b.ctx, "REPLICAOF", "NO", "ONE").Err())
	require.Len(t, b.events(runID), 2)

	// A server that lost its scripts gets them again, also for a pipeline.
	require.NoError(t, client.ScriptFlush(b.ctx).Err())
	b.send(runID, world.EventStepCreated, x, sample(b, world.EventStepCreated))
	require.NoError(t, client.ScriptFlush(b.ctx).Err())
	require.Len(t, runIDs(must(b.ListRuns(b.ctx, world.RunQuery{})).Data), 1)
	require.NoError(t, server.Kill())
	unavailable()
	_, err = b.GetRun(b.ctx, runID, false)
	require.Equal(t, world.CodeUnavailable, world.ErrorCode(err))

	ctx, cancel := context.WithCancel(b.ctx)
	cancel()
	_, err = b.GetRun(ctx, runID, false)
	require.ErrorIs(t, err, context.Canceled)
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func TestFailKinds(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]world.Code{
		"LOADING Redis is loading the dataset in memory":                           world.CodeUnavailable,
		"CLUSTERDOWN Hash slot not served":                                         world.CodeUnavailable,
		"READONLY You can't write against a read only replica. script: abc, on @u": world.CodeUnavailable,
		"WRONGTYPE Operation against a key holding the wrong kind of value":        world.CodeInternal,
		"ERR user_script:1: attempt to index nil":                                  world.CodeInternal,
	} {
		require.Equal(t, want, world.ErrorCode(fail(fmt.Errorf("script x: %w", redisError(text)))), text)
	}
	require.NoError(t, fail(nil))
	require.Equal(t, world.CodeUnavailable, world.ErrorCode(fail(fmt.Errorf("x: %w", io.EOF))))
	require.Equal(t, world.CodeUnavailable, world.ErrorCode(fail(context.DeadlineExceeded)))
	require.Equal(t, world.CodeInternal, world.ErrorCode(fail(errors.New("other"))))
	require.Equal(t, world.CodeRunNotFound, world.ErrorCode(fail(world.RunNotFound("r"))))
}

type redisError string

func (e redisError) Error() string { return string(e) }
func (redisError) RedisError()     {}
