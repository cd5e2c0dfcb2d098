package main

import (
	"context"
	"net"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/world-redis/world-redis/storage"
)

// recorder is a go-redis hook that records the commands.
type recorder struct {
	mu       sync.Mutex
	commands [][]any
}

func (r *recorder) keep(cmd redis.Cmder) {
	if name := cmd.Name(); name == "hello" || name == "client" { // sent by a new connection
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.commands = append(r.commands, cmd.Args())
}

func (r *recorder) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (r *recorder) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		r.keep(cmd)
		return next(ctx, cmd)
	}
}

func (r *recorder) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		for _, cmd := range cmds {
			r.keep(cmd)
		}
		return next(ctx, cmds)
	}
}

// record lets the storage write one run and returns the Redis commands of each of its events: the same scripts and
// arguments that the service sends.
func record(ctx context.Context, client *redis.Client, runID string, size int) ([][][]any, error) {
	store, err := storage.New(ctx, client, storage.Config{})
	if err != nil {
		return nil, err
	}
	events, err := sixEvents(size, "workflow//./bench//load", "step_"+runID[5:])
	if err != nil {
		return nil, err
	}
	r := &recorder{}
	client.AddHook(r)
	var calls [][][]any
	for _, event := range events {
		event.RunID = runID
		if _, err := store.CreateEvent(ctx, event); err != nil {
			return nil, err
		}
		r.mu.Lock()
		calls = append(calls, r.commands)
		r.commands = nil
		r.mu.Unlock()
	}
	return calls, nil
}

// forRun returns the commands of a call with the run id replaced in all arguments; both ids have the same length.
func forRun(commands [][]any, from, to string) [][]any {
	out := make([][]any, len(commands))
	for i, args := range commands {
		out[i] = make([]any, len(args))
		for j, arg := range args {
			switch a := arg.(type) {
			case string:
				out[i][j] = strings.Replace(a, from, to, 1)
			case []byte:
				out[i][j] = strings.Replace(string(a), from, to, 1)
			default:
				out[i][j] = arg
			}
		}
	}
	return out
}
