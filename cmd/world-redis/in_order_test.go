package main

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/fxamacker/cbor/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/httpapi"
	"github.com/world-redis/world-redis/internal/redistest"
)

// ordered is a namespace on its own Redis, with a run that has step_1.
type ordered struct {
	*tenant
	t     *testing.T
	redis redis.UniversalClient
	way   *way
	runID string
}

// way is a go-redis hook for the pipelines that carry an event with its message; nil lets them pass.
type way struct {
	mu   sync.Mutex
	pass func(ctx context.Context, cmds []redis.Cmder, next redis.ProcessPipelineHook) error
	seen int
}

func (w *way) set(pass func(ctx context.Context, cmds []redis.Cmder, next redis.ProcessPipelineHook) error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pass, w.seen = pass, 0
}

func (w *way) pipelines() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.seen
}

func (w *way) DialHook(next redis.DialHook) redis.DialHook          { return next }
func (w *way) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

func (w *way) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		w.mu.Lock()
		pass := w.pass
		if cmds[0].Name() == "evalsha" {
			w.seen++
		}
		w.mu.Unlock()
		if pass == nil || cmds[0].Name() != "evalsha" {
			return next(ctx, cmds)
		}
		return pass(ctx, cmds, next)
	}
}

func itemOf(t *testing.T, v any) world.Raw {
	t.Helper()
	encoded, err := cbor.Marshal(v)
	require.NoError(t, err)
	return encoded
}

func newOrdered(t *testing.T) *ordered {
	t.Helper()
	tenant, conn, addr := newTestTenant(t)
	o := &ordered{tenant: tenant, t: t, redis: redistest.Client(t, addr), way: &way{}}
	conn.Client.AddHook(o.way)
	created, err := o.store.CreateEvent(t.Context(), world.CreateEvent{
		Type: world.EventRunCreated, RequestID: "run", SpecVersion: 3,
		Data: world.Fields{{Key: "deploymentId", Value: itemOf(t, "d")}, {Key: "workflowName", Value: itemOf(t, "w")}, {Key: "input", Value: itemOf(t, 1)}},
	})
	require.NoError(t, err)
	o.runID = created.Run.RunID
	o.accepted(o.event(world.EventRunStarted, "", "started"))
	o.accepted(o.event(world.EventStepCreated, "step_1", "created", world.Field{Key: "stepName", Value: itemOf(t, "s")}, world.Field{Key: "input", Value: itemOf(t, 1)}))
	o.accepted(o.event(world.EventStepStarted, "step_1", "begun"))
	return o
}

func (o *ordered) event(kind world.EventType, id, requestID string, data ...world.Field) world.CreateEvent {
	return world.CreateEvent{RunID: o.runID, Type: kind, CorrelationID: id, RequestID: requestID, SpecVersion: 3, Data: data}
}

func (o *ordered) accepted(event world.CreateEvent) {
	o.t.Helper()
	_, err := o.store.CreateEvent(o.t.Context(), event)
	require.NoError(o.t, err)
}

// end returns the event that ends step_1.
func (o *ordered) end() world.CreateEvent {
	return o.event(world.EventStepCompleted, "step_1", "end", world.Field{Key: "result", Value: itemOf(o.t, 1)})
}

// wakeUp returns a message that is not merged into others.
func (o *ordered) wakeUp() world.Message {
	return world.Message{QueueName: "__wkf_step_s", Body: []byte("step"), RunID: o.runID, StepID: "step_1", RequestID: "message"}
}

func (o *ordered) make(event world.CreateEvent, message world.Message) httpapi.EventAndMessage {
	o.t.Helper()
	made, ok := o.inOrder(o.t.Context(), event, message)
	require.True(o.t, ok)
	return made
}

// ends returns how many ends of step_1 the log has.
func (o *ordered) ends() int {
	o.t.Helper()
	page, err := o.store.ListEvents(o.t.Context(), world.EventQuery{RunID: o.runID})
	require.NoError(o.t, err)
	n := 0
	for _, e := range page.Data {
		if e.Type == world.EventStepCompleted {
			n++
		}
	}
	return n
}

// messages returns the ids of the waiting messages.
func (o *ordered) messages() []string {
	o.t.Helper()
	ids, err := o.redis.LRange(o.t.Context(), "asynq:{workflow_steps}:pending", 0, -1).Result()
	require.NoError(o.t, err)
	return ids
}

// requireOwn requires that the requested message has the request id of the call.
func (o *ordered) requireOwn(id string) {
	o.t.Helper()
	again, err := o.queue.Enqueue(o.t.Context(), o.wakeUp())
	require.NoError(o.t, err)
	require.Equal(o.t, id, again)
}

// An event and its message are one pipeline; their repeat finds the event, and adds a message that then certainly
// follows it.
func TestAnEventAndItsMessageAreOnePipeline(t *testing.T) {
	t.Parallel()
	o := newOrdered(t)
	o.way.set(nil)
	made := o.make(o.end(), o.wakeUp())
	require.NoError(t, errors.Join(made.EventErr, made.MessageErr))
	require.Equal(t, 1, o.way.pipelines())
	require.Equal(t, world.StepCompleted, made.Event.Step.Status)
	require.Equal(t, []string{made.MessageID}, o.messages())
	again := o.make(o.end(), o.wakeUp())
	require.NoError(t, errors.Join(again.EventErr, again.MessageErr))
	require.Equal(t, made.Event, again.Event)
	require.Equal(t, 1, o.ends())
	require.Contains(t, o.messages(), again.MessageID)
}

// The message of a refused event is not the answer to a later call.
func TestTheMessageBehindARefusedEventStandsForNoOther(t *testing.T) {
	t.Parallel()
	o := newOrdered(t)
	late := o.end()
	late.CorrelationID = "step_2"
	made := o.make(late, o.wakeUp())
	require.Equal(t, world.CodeStepNotFound, world.ErrorCode(made.EventErr))
	require.NoError(t, made.MessageErr)
	id, err := o.queue.Enqueue(t.Context(), o.wakeUp())
	require.NoError(t, err)
	require.NotEqual(t, made.MessageID, id)
}

// A message that came before its event is added once more, under its own request id: Redis had forgotten the script of
// the event, or the step was mended first.
func TestTheMessageBeforeItsEventIsAddedOnceMore(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(o *ordered){
		"forgotten": func(o *ordered) {
			require.NoError(t, o.redis.ScriptFlush(t.Context()).Err())
			_, err := o.queue.Enqueue(t.Context(), world.Message{QueueName: "__wkf_step_s", Body: []byte("other")}) // loads it again
			require.NoError(t, err)
		},
		"mended": func(o *ordered) {
			keys, err := o.redis.Keys(t.Context(), "workflow:*{"+o.runID+"}*step_1*").Result()
			require.NoError(t, err)
			require.Len(t, keys, 1)
			require.NoError(t, o.redis.Del(t.Context(), keys...).Err())
		},
	} {
		o := newOrdered(t)
		spoil(o)
		before := len(o.messages())
		made := o.make(o.end(), o.wakeUp())
		require.NoError(t, errors.Join(made.EventErr, made.MessageErr), name)
		require.Equal(t, 1, o.ends(), name)
		require.Len(t, o.messages(), before+2, name)
		o.requireOwn(made.MessageID)
	}
}

// Redis has forgotten all scripts: they run in their order, and once.
func TestScriptsThatAreAllForgottenKeepTheirOrder(t *testing.T) {
	t.Parallel()
	o := newOrdered(t)
	require.NoError(t, o.redis.ScriptFlush(t.Context()).Err())
	made := o.make(o.end(), o.wakeUp())
	require.NoError(t, errors.Join(made.EventErr, made.MessageErr))
	require.Equal(t, 1, o.ends())
	require.Equal(t, []string{made.MessageID}, o.messages())
}

// The connection breaks after both scripts, between them, or before them. The repeated call writes the event once and
// adds the message.
func TestARepeatAfterTheConnectionBroke(t *testing.T) {
	t.Parallel()
	broken := errors.New("connection broke")
	for name, carriedOut := range map[string]int{"before": 0, "between": 1, "after": 2} {
		o := newOrdered(t)
		o.way.set(func(ctx context.Context, cmds []redis.Cmder, next redis.ProcessPipelineHook) error {
			if carriedOut > 0 {
				require.NoError(t, next(ctx, cmds[:carriedOut]))
			}
			for i, cmd := range cmds {
				if i >= carriedOut || carriedOut == len(cmds) {
					cmd.SetErr(broken)
				}
			}
			return broken
		})
		made := o.make(o.end(), o.wakeUp())
		require.Error(t, made.MessageErr, name)
		require.Equal(t, carriedOut == 1, made.EventErr == nil, name)
		o.way.set(nil)
		made = o.make(o.end(), o.wakeUp())
		require.NoError(t, errors.Join(made.EventErr, made.MessageErr), name)
		require.Equal(t, 1, o.ends(), name)
		require.Contains(t, o.messages(), made.MessageID, name)
	}
}

// Two callers make the same call: the event is written once, both get its answer, and each gets a message after it.
func TestTwoCallersOfOneCall(t *testing.T) {
	t.Parallel()
	o := newOrdered(t)
	made := make([]httpapi.EventAndMessage, 2)
	var callers sync.WaitGroup
	for i := range made {
		callers.Go(func() { made[i] = o.make(o.end(), o.wakeUp()) })
	}
	callers.Wait()
	for _, m := range made {
		require.NoError(t, errors.Join(m.EventErr, m.MessageErr))
		require.Equal(t, made[0].Event, m.Event)
		require.Contains(t, o.messages(), m.MessageID)
	}
	require.Equal(t, 1, o.ends())
}

// A caller that disconnects while the two are in progress stops neither.
func TestACallerThatGoesWhileTheyAreUnderWay(t *testing.T) {
	t.Parallel()
	o := newOrdered(t)
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	o.way.set(func(ctx context.Context, cmds []redis.Cmder, next redis.ProcessPipelineHook) error {
		leave()
		return next(ctx, cmds)
	})
	made, ok := o.inOrder(ctx, o.end(), o.wakeUp())
	require.True(t, ok)
	require.NoError(t, errors.Join(made.EventErr, made.MessageErr))
	require.Equal(t, 1, o.ends())
	require.Equal(t, []string{made.MessageID}, o.messages())
}

// A pair that cannot be sent together is left to the caller, and nothing is sent.
func TestWhatIsNotSentTogether(t *testing.T) {
	t.Parallel()
	o := newOrdered(t)
	o.way.set(nil)
	gone, leave := context.WithCancel(t.Context())
	leave()
	limited, cancel := context.WithTimeout(t.Context(), 1<<40)
	defer cancel()
	for name, one := range map[string]struct {
		ctx     context.Context
		event   world.CreateEvent
		message world.Message
	}{
		"another event":       {t.Context(), o.event(world.EventRunCompleted, "", "r"), o.wakeUp()},
		"a bad event":         {t.Context(), o.event(world.EventStepCreated, "step_2", "r"), o.wakeUp()},
		"a bad message":       {t.Context(), o.end(), world.Message{QueueName: "none"}},
		"a caller has gone":   {gone, o.end(), o.wakeUp()},
		"there is a deadline": {limited, o.end(), o.wakeUp()},
	} {
		_, ok := o.inOrder(one.ctx, one.event, one.message)
		require.False(t, ok, name)
	}
	require.Zero(t, o.way.pipelines())
	require.Zero(t, o.ends())
	require.Empty(t, o.messages())
}

// On a cluster no pair is sent together.
func TestNothingIsSentTogetherOnACluster(t *testing.T) {
	t.Parallel()
	o := newOrdered(t)
	require.NotNil(t, o.deps().InOrder)
	o.clustered = true
	require.Nil(t, o.deps().InOrder)
}
