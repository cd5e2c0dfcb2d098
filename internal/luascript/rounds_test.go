package luascript_test

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis/internal/luascript"
	"github.com/world-redis/world-redis/internal/redistest"
)

// gate is a go-redis hook that holds pipelines back, and records how many commands each has.
type gate struct {
	came chan int
	open chan struct{}
}

func (g *gate) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (g *gate) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

func (g *gate) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if cmds[0].Name() != "hello" && cmds[0].Name() != "client" { // a new connection introduces itself
			g.came <- len(cmds)
			<-g.open
		}
		return next(ctx, cmds)
	}
}

// gated returns a runner whose two pipelines are held back, with a call each.
func gated(t *testing.T, r *redistest.Redis, callers *sync.WaitGroup) (*luascript.Runner, *gate) {
	t.Helper()
	g := &gate{came: make(chan int, 100), open: make(chan struct{})}
	r.Client.AddHook(g)
	runner := luascript.NewRunner(r.Client)
	for i := range 2 {
		callers.Go(func() {
			require.NoError(t, runner.Commands(t.Context(), func(p redis.Pipeliner) { p.Incr(t.Context(), r.Prefix+"first") }))
		})
		require.Equal(t, 1, <-g.came, i)
	}
	return runner, g
}

// While two pipelines are in progress, further calls are collected, in their order, and sent as one; a caller that
// gives up meanwhile returns immediately, and delays no other.
func TestCallsWaitForTheNextRound(t *testing.T) {
	t.Parallel()
	r := redistest.New(t)
	var callers sync.WaitGroup
	runner, g := gated(t, r, &callers)
	script := loadTake(t)

	ctx, giveUp := context.WithCancel(t.Context())
	gaveUp, began := make(chan error), make(chan struct{})
	go func() {
		close(began)
		_, err := runner.Run(ctx, script, []string{r.Prefix + "given up"}, 1)
		gaveUp <- err
	}()
	<-began
	for i := range 30 {
		callers.Go(func() {
			key := fmt.Sprint(r.Prefix, i)
			reply, err := runner.RunAfter(t.Context(), func(p redis.Pipeliner) { p.Set(t.Context(), key, i, 0) }, script, []string{key}, -i)
			require.NoError(t, err)
			require.Equal(t, []any{fmt.Sprint(i), fmt.Sprint(-i)}, reply)
		})
	}
	giveUp()
	require.ErrorIs(t, <-gaveUp, context.Canceled)
	close(g.open)
	callers.Wait()
	close(g.came)
	sent, pipelines := 0, 0
	for n := range g.came {
		sent, pipelines = sent+n, pipelines+1
	}
	require.GreaterOrEqual(t, sent, 60)
	require.Less(t, pipelines, 30, "calls at the same time did not travel together")
	first, err := r.Client.Get(t.Context(), r.Prefix+"first").Int()
	require.NoError(t, err)
	require.Equal(t, 2, first)
}

// A pipeline has a maximum length: the calls that do not fit are sent in the next one, and all are sent.
func TestALongRoundIsSeveral(t *testing.T) {
	t.Parallel()
	r := redistest.New(t)
	var callers sync.WaitGroup
	runner, g := gated(t, r, &callers)
	script := loadTake(t)
	text := strings.Repeat("x", 60_000)
	for i := range 20 {
		callers.Go(func() {
			reply, err := runner.Run(t.Context(), script, []string{fmt.Sprint(r.Prefix, i)}, text+fmt.Sprint(i))
			require.NoError(t, err)
			require.Equal(t, text+fmt.Sprint(i), reply[1])
		})
	}
	close(g.open)
	callers.Wait()
	close(g.came)
	for n := range g.came {
		require.LessOrEqual(t, n, 4)
	}
}

// The calls of a separate runner do not wait for each other, and each is sent separately.
func TestCallsOfASeparateRunnerShareNoPipeline(t *testing.T) {
	t.Parallel()
	r := redistest.New(t)
	script := loadTake(t)
	g := &gate{came: make(chan int, 100), open: make(chan struct{})}
	r.Client.AddHook(g)
	runner := luascript.NewSeparateRunner(r.Client)
	var callers sync.WaitGroup
	const count = 8
	for i := range count {
		callers.Go(func() {
			key := fmt.Sprint(r.Prefix, i)
			reply, err := runner.RunAfter(t.Context(), func(p redis.Pipeliner) { p.Set(t.Context(), key, i, 0) }, script, []string{key}, -i)
			require.NoError(t, err)
			require.Equal(t, []any{fmt.Sprint(i), fmt.Sprint(-i)}, reply)
		})
	}
	for range count {
		require.Equal(t, 2, <-g.came)
	}
	close(g.open)
	callers.Wait()
}
