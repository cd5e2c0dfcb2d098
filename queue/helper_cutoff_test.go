package queue_test

import (
	"context"
	"errors"
	"net"
	"sync/atomic"

	"github.com/redis/go-redis/v9"
)

var errCutOff = errors.New("cut off")

// cutOff is a hook that lets n Redis calls through and no more, like a process that is killed then. The last call may
// still reach Redis while its answer is lost.
type cutOff struct {
	left     atomic.Int64
	lastSent bool
}

func (c *cutOff) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (c *cutOff) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		return c.pass(func() error { return next(ctx, cmd) })
	}
}

func (c *cutOff) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		return c.pass(func() error { return next(ctx, cmds) })
	}
}

func (c *cutOff) pass(call func() error) error {
	left := c.left.Add(-1)
	if left >= 0 {
		return call()
	}
	if left == -1 && c.lastSent {
		_ = call()
	}
	return errCutOff
}
