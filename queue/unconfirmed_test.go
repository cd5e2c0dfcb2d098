package queue_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/redistest"
	"github.com/world-redis/world-redis/internal/replicated"
)

// unconfirming is a go-redis hook that reports for every script of a marked call that replicas have not confirmed it.
type unconfirming struct{}

func (unconfirming) DialHook(next redis.DialHook) redis.DialHook          { return next }
func (unconfirming) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

func (unconfirming) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err := next(ctx, cmds)
		if err != nil || !replicated.IsWanted(ctx) {
			return err
		}
		missing := &replicated.Error{Wanted: 1}
		for _, cmd := range cmds {
			cmd.SetErr(missing)
		}
		return missing
	}
}

// The enqueue of a message that replicas have not confirmed is refused, but the message is stored: a waiting worker
// delivers it immediately, and the repeated call adds no second one.
func TestUnconfirmedMessagesAreDelivered(t *testing.T) {
	t.Parallel()
	r := redistest.New(t)
	r.Client.AddHook(unconfirming{})
	a := newApp(always(world.Outcome{Verdict: world.Done}))
	q := start(t, r, a)
	for i := range 5 { // the worker waits for most of them, and they are taken for it in the same round trip
		m := stepOf("wrun_1", "")
		m.RequestID = fmt.Sprint("request ", i)
		for range 2 {
			_, err := q.Enqueue(replicated.Wanted(t.Context()), m)
			require.Equal(t, world.CodeUnavailable, world.ErrorCode(err))
			require.ErrorContains(t, err, "the message is stored, but 0 of 1 replicas of Redis confirmed the write in time")
		}
		select {
		case <-a.arrived:
		case <-time.After(8 * time.Second): // before the lease of one that was taken and forgotten ends
			require.FailNow(t, "no delivery")
		}
	}
	require.Len(t, a.seen(), 5)
}
