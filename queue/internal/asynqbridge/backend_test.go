package asynqbridge

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
)

// recorder is a Redis without data that records its commands.
type recorder struct {
	mu       sync.Mutex
	commands []string
}

func (r *recorder) client() redis.UniversalClient {
	return sealed(func(cmd redis.Cmder) error {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.commands = append(r.commands, cmd.Name())
		return answerNothing(cmd)
	})
}

func (r *recorder) got() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.commands
}

// An unknown call of asynq does not reach Redis: asynq gets an error, and the log says once what to do.
func TestUnknownCallsFailClosed(t *testing.T) {
	t.Parallel()
	done := knownCalls[2]
	doneKeys := func(queue string) []string {
		k := KeysOf(queue)
		return []string{k.Active, k.Lease, k.Task + "msg_1", k.Processed + ":2026-11-30", k.Processed}
	}
	args := []any{"msg_1", 1, 2}
	const foreign = "return redis.call('DEL', KEYS[1])"
	for name, send := range map[string]func(ctx context.Context, c redis.UniversalClient) error{
		"a script": func(ctx context.Context, c redis.UniversalClient) error {
			return redis.NewScript(foreign).Run(ctx, c, doneKeys("q"), args...).Err()
		},
		"a script as text": func(ctx context.Context, c redis.UniversalClient) error {
			return c.Eval(ctx, foreign, doneKeys("q")).Err()
		},
		"a script without keys": func(ctx context.Context, c redis.UniversalClient) error { return c.EvalSha(ctx, "0", nil).Err() },
		"keys of another queue": func(ctx context.Context, c redis.UniversalClient) error {
			return c.EvalSha(ctx, done.sha, doneKeys("other"), args...).Err()
		},
		"one key more": func(ctx context.Context, c redis.UniversalClient) error {
			return c.EvalSha(ctx, done.sha, append(doneKeys("q"), "x"), args...).Err()
		},
		"one argument more": func(ctx context.Context, c redis.UniversalClient) error {
			return c.EvalSha(ctx, done.sha, doneKeys("q"), append(args, 3)...).Err()
		},
		"a command":   func(ctx context.Context, c redis.UniversalClient) error { return c.Del(ctx, "asynq:{q}:pending").Err() },
		"any command": func(ctx context.Context, c redis.UniversalClient) error { return c.Do(ctx, "FLUSHALL").Err() },
		"a pipeline": func(ctx context.Context, c redis.UniversalClient) error {
			_, err := c.Pipelined(ctx, func(p redis.Pipeliner) error { return p.LPush(ctx, "asynq:{q}:pending", "x").Err() })
			return err
		},
		"a transaction": func(ctx context.Context, c redis.UniversalClient) error {
			return c.Watch(ctx, func(*redis.Tx) error { return nil }, "asynq:{q}:pending")
		},
		"a lease of another queue": func(ctx context.Context, c redis.UniversalClient) error {
			return c.ZAddXX(ctx, "asynq:{other}:lease").Err()
		},
		"another zset": func(ctx context.Context, c redis.UniversalClient) error {
			return c.ZAdd(ctx, "asynq:{q}:lease", redis.Z{}).Err()
		},
		"off another zset": func(ctx context.Context, c redis.UniversalClient) error {
			return c.ZRem(ctx, "asynq:{q}:lease", "msg_1").Err()
		},
		"another set": func(ctx context.Context, c redis.UniversalClient) error {
			return c.SAdd(ctx, "asynq:{q}:groups", "g").Err()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var r recorder
			var log strings.Builder
			b := New(r.client(), "q", slog.New(slog.NewTextHandler(&log, nil))).backend
			require.ErrorIs(t, send(t.Context(), b), errUnknownCall)
			require.ErrorIs(t, send(t.Context(), b), errUnknownCall)
			require.Empty(t, r.got())
			require.Equal(t, 1, strings.Count(log.String(), "level=ERROR"))
			require.Contains(t, log.String(), "run a build with the asynq version of its go.mod")
		})
	}
}

// A worker of asynq as the service sets it up makes no refused call within hours, and the only scripts of it that reach
// Redis are those about its lists.
func TestAWorkerMakesNoOtherCalls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var r recorder
		var log strings.Builder
		b := New(r.client(), "q", slog.New(slog.NewTextHandler(&log, nil)))
		sent := world.Message{QueueName: "__wkf_step_x", RunID: "wrun_1", Body: []byte("body")}
		encoded, err := b.Encode(t.Context(), world.KindStep, "msg_1", sent)
		require.NoError(t, err)
		again, err := Decode(string(encoded))
		require.NoError(t, err)
		require.Equal(t, sent, again)

		messages, ending := make(chan string, 2), make(chan struct{})
		messages <- string(encoded)
		messages <- string(encoded)
		type delivery struct {
			id  string
			m   world.Message
			err error
		}
		deliveries := make(chan delivery, 2)
		stop, err := b.Serve(Worker{
			Slots: 1, Ending: ending,
			Next: func() (string, bool) {
				select {
				case m := <-messages:
					return m, true
				case <-ending:
					return "", false
				}
			},
			Deliver: func(id string, m world.Message, err error) {
				<-time.After(90 * time.Minute) // of synctest's clock: asynq renews its lease meanwhile
				deliveries <- delivery{id, m, err}
			},
		})
		require.NoError(t, err)
		for range 2 {
			require.Equal(t, delivery{id: "msg_1", m: sent}, <-deliveries)
		}
		close(ending)
		stop()
		require.NotContains(t, log.String(), "level=ERROR")
		kinds := map[string]int{}
		for _, c := range r.got() {
			kinds[c]++
		}
		const reports, hours = 90, 3
		require.Equal(t, 1, kinds["sadd"])
		require.Equal(t, 2, kinds["zrem"])
		require.InDelta(t, 2*reports, kinds["zadd"], 4)
		require.InDelta(t, reports+hours+1, kinds["evalsha"], 4) // reports, cleaning, signing off
		require.Len(t, kinds, 4)
	})
}

// The message of a call is captured only where Encode asked for it.
func TestOnlyEncodeTakesWhatIsEnqueued(t *testing.T) {
	t.Parallel()
	var r recorder
	b := New(r.client(), "q", slog.New(slog.DiscardHandler)).backend
	k := KeysOf("q")
	err := b.EvalSha(t.Context(), knownCalls[0].sha, []string{k.Task + "msg_1", k.Pending}, []byte("m"), "msg_1", 1).Err()
	require.ErrorIs(t, err, errUnknownCall)
	require.Empty(t, r.got())
}

// A stored message that cannot be decoded is an error and not another message.
func TestDecodeRefusesWhatAsynqDidNotWrite(t *testing.T) {
	t.Parallel()
	for _, stored := range []string{"", "x", "\x12\xff", "\x12\x01x", "\x0b", string([]byte{0x12, 0xff, 0xff, 0xff, 0xff, 0x7f})} {
		_, err := Decode(stored)
		require.Error(t, err, "%q", stored)
	}
}

// If Redis refuses the update of the list of queues, the error says so.
func TestEncodePassesOnTheFaultOfRedis(t *testing.T) {
	t.Parallel()
	fault := errors.New("OOM command not allowed")
	b := New(sealed(func(redis.Cmder) error { return fault }), "q", slog.New(slog.DiscardHandler))
	_, err := b.Encode(t.Context(), world.KindFlow, "msg_1", world.Message{QueueName: "q"})
	require.ErrorContains(t, err, fault.Error())
}
