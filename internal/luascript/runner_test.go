package luascript_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/world-redis/world-redis/internal/luascript"
	"github.com/world-redis/world-redis/internal/redistest"
	"github.com/world-redis/world-redis/internal/replicated"
)

func TestMain(m *testing.M) { redistest.Main(m, goleak.Find, redistest.OnCluster) }

// take returns the value of a key and its argument, and empties the key.
const take = "local was = redis.call('GET', KEYS[1])\nredis.call('DEL', KEYS[1])\nreturn {was, ARGV[1]}\n"

func loadTake(t *testing.T) *luascript.Script {
	t.Helper()
	s, err := luascript.Load(fstest.MapFS{"lua/take.lua": {Data: []byte(take)}}, "lua", "take")
	require.NoError(t, err)
	return s
}

// Many concurrent calls: each gets its own answer, the commands in front of a script run before it, and a refused call
// does not affect the others. Redis does not know the script at first, and forgets it in between.
func TestConcurrentCallsStayIndependent(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		runner := luascript.NewRunner(r.Client)
		script := loadTake(t)
		text := r.Prefix + "{text}"
		require.NoError(t, r.Client.Set(t.Context(), text, "no hash", 0).Err())
		var calls sync.WaitGroup
		for i := range 400 {
			calls.Go(func() {
				key := fmt.Sprintf("%s{%d}", r.Prefix, i)
				switch {
				case i%50 == 7:
					require.NoError(t, r.Client.ScriptFlush(t.Context()).Err())
				case i%10 == 3:
					_, err := runner.RunAfter(t.Context(), func(p redis.Pipeliner) { p.HSet(t.Context(), text, "a", 1) }, script, []string{key}, i)
					require.ErrorContains(t, err, "WRONGTYPE")
				default:
					set := func(p redis.Pipeliner) { p.Set(t.Context(), key, i, 0) }
					reply, err := runner.RunAfter(t.Context(), set, script, []string{key}, -i)
					require.NoError(t, err)
					require.Equal(t, []any{fmt.Sprint(i), fmt.Sprint(-i)}, reply)
				}
			})
		}
		calls.Wait()
	})
}

// A caller that gives up returns; its call may have been carried out.
func TestACallerGivesUp(t *testing.T) {
	t.Parallel()
	r := redistest.New(t)
	runner := luascript.NewRunner(r.Client)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := runner.Run(ctx, loadTake(t), []string{r.Prefix + "x"}, 1)
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, runner.Commands(ctx, func(p redis.Pipeliner) { p.Ping(ctx) }), context.Canceled)
}

// Concurrent commands are all carried out.
func TestCommandsAtTheSameTime(t *testing.T) {
	t.Parallel()
	r := redistest.New(t)
	runner := luascript.NewRunner(r.Client)
	var calls sync.WaitGroup
	for range 100 {
		calls.Go(func() {
			require.NoError(t, runner.Commands(t.Context(), func(p redis.Pipeliner) {
				p.Incr(t.Context(), r.Prefix+"a")
				p.Incr(t.Context(), r.Prefix+"b")
			}))
		})
	}
	calls.Wait()
	for _, key := range []string{"a", "b"} {
		n, err := r.Client.Get(t.Context(), r.Prefix+key).Int()
		require.NoError(t, err)
		require.Equal(t, 100, n)
	}
}

// Two scripts in one round trip: the second one sees the effect of the first, has its own answer when the first is
// refused, and both run although Redis has forgotten them; if Redis has forgotten only the first, the answer says that
// the first came late. This test does not run in parallel: the package's tests share their servers, and one test would
// load the scripts that another one has made Redis forget.
func TestTwoScriptsInOneRoundTrip(t *testing.T) {
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		runner := luascript.NewRunner(r.Client)
		put, err := luascript.Load(fstest.MapFS{"lua/put.lua": {Data: []byte("return {redis.call('SET', KEYS[1], ARGV[1])['ok']}")}}, "lua", "put")
		require.NoError(t, err)
		take := loadTake(t)
		var calls sync.WaitGroup
		for i := range 200 {
			calls.Go(func() {
				if i%50 == 7 {
					require.NoError(t, r.Client.ScriptFlush(t.Context()).Err())
				}
				keys := []string{fmt.Sprintf("%s{%d}", r.Prefix, i)}
				second := luascript.Call{Script: take, Keys: keys, Args: []any{-i}}
				replies, errs, _ := runInOrder(t.Context(), runner, luascript.Call{Script: put, Keys: keys, Args: []any{i}}, second)
				require.NoError(t, errors.Join(errs...))
				require.Equal(t, []any{"OK"}, replies[0])
				require.Equal(t, fmt.Sprint(-i), replies[1][1])

				replies, errs, _ = runInOrder(t.Context(), runner, luascript.Call{Script: put, Keys: keys}, second)
				require.ErrorContains(t, errs[0], "script put")
				require.NoError(t, errs[1])
				require.Equal(t, fmt.Sprint(-i), replies[1][1])
			})
		}
		calls.Wait()

		keys := []string{r.Prefix + "{last}"}
		first, second := luascript.Call{Script: put, Keys: keys, Args: []any{"x"}}, luascript.Call{Script: take, Keys: keys, Args: []any{"y"}}
		runBoth := func() ([][]any, bool) {
			replies, errs, late := runInOrder(t.Context(), runner, first, second)
			require.NoError(t, errors.Join(errs...))
			return replies, late
		}
		require.NoError(t, r.Client.ScriptFlush(t.Context()).Err())
		replies, late := runBoth()
		require.Equal(t, [][]any{{"OK"}, {"x", "y"}}, replies, "both forgotten")
		require.False(t, late)
		replies, late = runBoth()
		require.Equal(t, [][]any{{"OK"}, {"x", "y"}}, replies, "none forgotten")
		require.False(t, late)
		require.NoError(t, r.Client.ScriptFlush(t.Context()).Err())
		_, err = take.Run(t.Context(), r.Client, keys, "z")
		require.NoError(t, err)
		replies, late = runBoth()
		require.Equal(t, [][]any{{"OK"}, {nil, "y"}}, replies, "the first forgotten")
		require.True(t, late)

		require.NoError(t, r.Client.ScriptFlush(t.Context()).Err())
		_, err = put.Run(t.Context(), r.Client, keys, "z")
		require.NoError(t, err)
		_, errs, late := runInOrder(t.Context(), runner, first, second, first)
		require.NoError(t, errors.Join(errs...))
		require.True(t, late, "the one in the middle forgotten")
	})
}

// runInOrder sends one batch.
func runInOrder(ctx context.Context, runner *luascript.Runner, calls ...luascript.Call) (replies [][]any, errs []error, late bool) {
	answers := runner.RunInOrder(ctx, luascript.Batch{Calls: calls})[0]
	for _, a := range answers {
		replies, errs = append(replies, a.Reply), append(errs, a.Err)
	}
	return replies, errs, luascript.Late(answers)
}

// A call that waits for replicas delays neither calls without the mark nor scripts that only read.
func TestOthersDoNotWaitWithMarkedCalls(t *testing.T) {
	t.Parallel()
	r := redistest.New(t)
	g := &markedGate{came: make(chan struct{}, 100), open: make(chan struct{})}
	r.Client.AddHook(g)
	runner := luascript.NewRunner(r.Client)
	read, err := luascript.Load(fstest.MapFS{"lua/read.lua": {Data: []byte("return {redis.call('GET', KEYS[1])}")}}, "lua", "read")
	require.NoError(t, err)
	write, ctx := loadTake(t), replicated.Wanted(t.Context())
	var marked sync.WaitGroup
	for i := range 2 {
		marked.Go(func() {
			_, err := runner.Run(ctx, write, []string{fmt.Sprint(r.Prefix, i)}, 1)
			require.NoError(t, err)
		})
		<-g.came
	}
	ended := make(chan []error, 1)
	go func() {
		_, shared := runner.Run(ctx, read, []string{r.Prefix + "k"})
		_, alone := read.Run(ctx, r.Client, []string{r.Prefix + "k"})
		_, ordered, _ := runInOrder(ctx, runner, luascript.Call{Script: read, Keys: []string{r.Prefix + "k"}})
		_, unmarked := runner.Run(t.Context(), write, []string{r.Prefix + "k"}, 1)
		ended <- []error{shared, alone, ordered[0], unmarked}
	}()
	select {
	case errs := <-ended:
		require.Equal(t, []error{nil, nil, nil, nil}, errs)
	case <-time.After(time.Minute):
		require.FailNow(t, "they wait")
	}
	close(g.open)
	marked.Wait()
}

// A write that replicas have not confirmed returns its answer, too.
func TestUnconfirmedCallsHaveTheirAnswers(t *testing.T) {
	t.Parallel()
	r := redistest.New(t)
	missing := &replicated.Error{Wanted: 1}
	r.Client.AddHook(unconfirming{missing})
	runner, write, ctx := luascript.NewRunner(r.Client), loadTake(t), replicated.Wanted(t.Context())
	require.NoError(t, luascript.Register(t.Context(), r.Client, write))
	answer := []any{nil, "1"}
	reply, err := runner.Run(ctx, write, []string{r.Prefix + "k"}, 1)
	require.ErrorIs(t, err, missing)
	require.Equal(t, answer, reply)
	deadline, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	replies, errs, _ := runInOrder(deadline, runner, luascript.Call{Script: write, Keys: []string{r.Prefix + "k"}, Args: []any{1}}, luascript.Call{Script: write, Keys: []string{r.Prefix + "k"}, Args: []any{1}})
	require.ErrorIs(t, errs[0], missing)
	require.ErrorIs(t, errs[1], missing)
	require.Equal(t, [][]any{answer, answer}, replies)
}

// markedGate is a go-redis hook that holds back pipelines of marked calls.
type markedGate struct{ came, open chan struct{} }

func (g *markedGate) DialHook(next redis.DialHook) redis.DialHook          { return next }
func (g *markedGate) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

func (g *markedGate) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if replicated.IsWanted(ctx) && cmds[0].Name() == "evalsha" {
			g.came <- struct{}{}
			<-g.open
		}
		return next(ctx, cmds)
	}
}

// unconfirming is a go-redis hook that reports that all scripts in pipelines are not confirmed.
type unconfirming struct{ missing error }

func (h unconfirming) DialHook(next redis.DialHook) redis.DialHook          { return next }
func (h unconfirming) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

func (h unconfirming) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if err := next(ctx, cmds); err != nil || cmds[0].Name() != "evalsha" {
			return err
		}
		for _, cmd := range cmds {
			cmd.SetErr(h.missing)
		}
		return h.missing
	}
}
