package asynqbridge

import (
	"context"
	"net"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// sealed returns a Redis client that makes no connection: each command ends with what answer does about it.
func sealed(answer func(redis.Cmder) error) redis.UniversalClient {
	c := redis.NewClient(&redis.Options{
		Addr: "sealed", Protocol: 2,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
	c.AddHook(seal{answer})
	return c
}

type seal struct{ answer func(redis.Cmder) error }

func (s seal) DialHook(redis.DialHook) redis.DialHook {
	return func(context.Context, string, string) (net.Conn, error) { return nil, errUnknownCall }
}

func (s seal) ProcessHook(redis.ProcessHook) redis.ProcessHook {
	return func(_ context.Context, cmd redis.Cmder) error {
		err := s.answer(cmd)
		cmd.SetErr(err)
		return err
	}
}

func (s seal) ProcessPipelineHook(redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(_ context.Context, cmds []redis.Cmder) (first error) {
		for _, cmd := range cmds {
			err := s.answer(cmd)
			cmd.SetErr(err)
			if first == nil {
				first = err
			}
		}
		return first
	}
}
