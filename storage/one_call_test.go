package storage

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/redistest"
	"github.com/world-redis/world-redis/storage/storagetest"
)

// recorder records the commands to a run's own slot.
type recorder struct {
	mu   sync.Mutex
	seen []string
}

func (r *recorder) note(cmds ...redis.Cmder) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, cmd := range cmds {
		for _, arg := range cmd.Args() {
			if text, ok := arg.(string); ok && strings.Contains(text, "{wrun_") {
				r.seen = append(r.seen, cmd.Name())
				break
			}
		}
	}
}

func (r *recorder) take() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	seen := r.seen
	r.seen = nil
	return seen
}

func (r *recorder) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (r *recorder) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error { r.note(cmd); return next(ctx, cmd) }
}

func (r *recorder) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error { r.note(cmds...); return next(ctx, cmds) }
}

// One events.create is one script call on the run's slot, whatever the call does in other slots. The only exception is
// the release of hooks that ended, which is remembered in the run's slot until it is done.
func TestOneScriptACall(t *testing.T) {
	t.Parallel()
	for _, spec := range []int{3, 7} {
		b := newBundle(t, redistest.New(t)).on(t, spec)
		var r recorder
		b.redis.Client.AddHook(&r)
		for eventType, entry := range storagetest.EveryRepeatable(spec) {
			runID := entry.From(b.caller())
			want := []string{"evalsha"}
			if eventType == world.EventHookDisposed {
				want = []string{"evalsha", "hdel"}
			}
			r.take()
			b.send(runID, eventType, storagetest.CorrelationOf(eventType), sample(b, eventType))
			require.Equal(t, want, r.take(), fmt.Sprint(spec, eventType))
			if !storagetest.IsRunEvent(eventType) {
				b.send(runID, world.EventRunCancelled, "", nil)
			}
		}
	}
}
