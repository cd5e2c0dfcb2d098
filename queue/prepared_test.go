package queue_test

import (
	"context"
	"strconv"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/luascript"
	"github.com/world-redis/world-redis/internal/redistest"
)

// A message that is prepared, sent by the caller and finished is delivered like any other, once, whether a worker waits
// for it or not; there is one for its request id.
func TestAPreparedMessageIsDelivered(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		a := newApp(always(world.Outcome{Verdict: world.Done}))
		q := start(t, r, a)
		runner := luascript.NewRunner(r.Client)
		direct := false
		for i := 0; i < 10 || !direct; i++ {
			require.Less(t, i, 1000, "no worker waited")
			m := stepOf("wrun_1", "")
			m.RequestID = "request " + strconv.Itoa(i)
			p, err := q.Prepare(t.Context(), m)
			require.NoError(t, err)
			direct = direct || len(p.Batch.Calls) > 1
			id, err := p.Finish(t.Context(), runner.RunInOrder(t.Context(), p.Batch)[0])
			require.NoError(t, err)
			a.await(t, 1)
			require.Equal(t, id, enqueue(t, q, m))
			require.Equal(t, []int{1}, a.attempts(id))
		}
		requireQuiet(t, r)
		for name, m := range map[string]world.Message{"name": {QueueName: "none"}, "delay": {QueueName: stepName, Delay: -1}} {
			_, err := q.Prepare(t.Context(), m)
			require.Equal(t, world.CodeInvalid, world.ErrorCode(err), name)
		}
	})
}

// A message that was prepared while a worker waits, and then could not be sent, delays neither the messages after it
// nor the end of the queue.
func TestAPreparedMessageThatIsNotSent(t *testing.T) {
	t.Parallel()
	r := redistest.New(t)
	a := newApp(always(world.Outcome{Verdict: world.Done}))
	q := start(t, r, a)
	full := r.Client.Eval(t.Context(), "return redis.error_reply('OOM command not allowed')", nil).Err()
	require.Error(t, full)
	direct := false
	for i := 0; !direct; i++ {
		require.Less(t, i, 1000, "no worker waited")
		p, err := q.Prepare(t.Context(), stepOf("wrun_1", "lost"))
		require.NoError(t, err)
		direct = len(p.Batch.Calls) > 1
		answers := make([]luascript.Answer, len(p.Batch.Calls))
		for j := range answers {
			answers[j].Err = full
		}
		_, err = p.Finish(t.Context(), answers)
		require.Equal(t, world.CodeUnavailable, world.ErrorCode(err))
		require.ErrorContains(t, err, "the message could not be stored: Redis is out of memory")
		enqueue(t, q, stepOf("wrun_1", "step_"+strconv.Itoa(i)))
		a.await(t, 1)
	}
	q.stop()
	requireQuiet(t, r)
}

// The queue's messages are sent by the runner of the configuration.
func TestTheRunnerOfTheConfigurationSendsMessages(t *testing.T) {
	t.Parallel()
	r, other := redistest.New(t), redistest.New(t)
	c := config(r, newApp(always(world.Outcome{Verdict: world.Done})))
	other.Client = redistest.Client(t, other.Addr)
	counted := &pipelines{}
	other.Client.AddHook(counted)
	c.Runner = luascript.NewRunner(other.Client)
	q := newQueue(t, r.Client, c)
	enqueue(t, q, stepOf("wrun_1", "step_1"))
	require.Positive(t, counted.seen)
}

// pipelines is a go-redis hook that counts pipelines.
type pipelines struct{ seen int }

func (p *pipelines) DialHook(next redis.DialHook) redis.DialHook          { return next }
func (p *pipelines) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

func (p *pipelines) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if cmds[0].Name() == "evalsha" {
			p.seen++
		}
		return next(ctx, cmds)
	}
}
