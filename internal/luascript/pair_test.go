package luascript_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis/internal/luascript"
	"github.com/world-redis/world-redis/internal/redistest"
)

// append adds its argument to a list, and answers the list; a second argument has it refuse, by an error reply.
const appendScript = "if ARGV[2] then\nreturn redis.error_reply('ERR refused')\nend\nredis.call('RPUSH', KEYS[1], ARGV[1])\nreturn redis.call('LRANGE', KEYS[1], 0, -1)\n"

func loadAppend(t *testing.T, name string) *luascript.Script {
	t.Helper()
	// Two scripts of the same text would be one to Redis.
	s, err := luascript.Load(fstest.MapFS{"lua/" + name + ".lua": {Data: []byte("-- luacheck: ignore\nlocal name = '" + name + "'\nlocal _ = name\n" + appendScript)}}, "lua", name)
	require.NoError(t, err)
	return s
}

// pairTest makes the two calls of a pair, each with a runner of its own, as stores have them.
type pairTest struct {
	r             *redistest.Redis
	list          string
	first, second *luascript.Script
	runners       [2]*luascript.Runner
}

// newPairTest has a Redis of its own: on the package's, other tests have scripts forgotten.
func newPairTest(t *testing.T) *pairTest {
	t.Helper()
	r := redistest.New(t)
	r.Client = redistest.Client(t, redistest.Start(t).Addr)
	p := &pairTest{r: r, list: r.Prefix + "list", first: loadAppend(t, "first"), second: loadAppend(t, "second")}
	p.runners = [2]*luascript.Runner{luascript.NewRunner(r.Client), luascript.NewRunner(r.Client)}
	require.NoError(t, luascript.Register(t.Context(), r.Client, p.first, p.second))
	return p
}

func (p *pairTest) runFirst(ctx context.Context, args ...any) ([]any, error) {
	reply, err := p.runners[0].RunFirst(ctx, nil, p.first, []string{p.list}, args...)
	if err == nil {
		luascript.Applied(ctx)
	}
	return reply, err
}

func (p *pairTest) runSecond(ctx context.Context, args ...any) ([]any, error) {
	replies, errs, _ := p.runners[1].RunInOrder(ctx, luascript.Call{Script: p.second, Keys: []string{p.list}, Args: args})
	return replies[0], errs[0]
}

// make makes both calls of a pair and returns what the second was answered.
func (p *pairTest) make(ctx context.Context, first, second func(ctx context.Context) ([]any, error)) (pair *luascript.Pair, reply []any, errs [2]error) {
	pair = luascript.NewPair(ctx)
	var both sync.WaitGroup
	both.Go(func() {
		defer pair.SecondEnded()
		reply, errs[1] = second(pair.Second())
	})
	_, errs[0] = first(pair.First())
	pair.FirstEnded(errs[0] == nil)
	both.Wait()
	return pair, reply, errs
}

func with(run func(ctx context.Context, args ...any) ([]any, error), args ...any) func(ctx context.Context) ([]any, error) {
	return func(ctx context.Context) ([]any, error) { return run(ctx, args...) }
}

// What the first sends stands before what the second sends, in one pipeline, whichever comes sooner.
func TestPairTravelsTogetherInOrder(t *testing.T) {
	t.Parallel()
	p := newPairTest(t)
	g := &gate{came: make(chan int, 100), open: make(chan struct{})}
	close(g.open)
	p.r.Client.AddHook(g)
	var want []any
	for range 50 {
		pair, reply, errs := p.make(t.Context(), with(p.runFirst, "event"), with(p.runSecond, "message"))
		require.NoError(t, errors.Join(errs[:]...))
		want = append(want, "event", "message")
		require.Equal(t, want, reply)
		require.True(t, pair.InTime())
		require.Equal(t, 2, <-g.came, "one pipeline")
	}
	require.Empty(t, g.came)
}

// Many pairs at the same time travel in common pipelines, and each keeps its order.
func TestManyPairs(t *testing.T) {
	t.Parallel()
	p := newPairTest(t)
	var pairs sync.WaitGroup
	for i := range 200 {
		q := *p
		q.list = p.list + string(rune('a'+i%26)) + strings.Repeat("x", i/26)
		pairs.Go(func() {
			pair, reply, errs := q.make(t.Context(), with(q.runFirst, "event"), with(q.runSecond, "message"))
			require.NoError(t, errors.Join(errs[:]...))
			require.Equal(t, []any{"event", "message"}, reply)
			require.True(t, pair.InTime())
		})
	}
	pairs.Wait()
}

// What does not go together goes one after the other: large calls, and a first that sends nothing.
func TestPairOneAfterTheOther(t *testing.T) {
	t.Parallel()
	p := newPairTest(t)
	large := strings.Repeat("x", 100_000)
	nothing := func(context.Context) ([]any, error) { return nil, nil }
	for name, one := range map[string]struct {
		first  func(p *pairTest) func(context.Context) ([]any, error)
		second string
		want   []any
	}{
		"a large first":  {func(p *pairTest) func(context.Context) ([]any, error) { return with(p.runFirst, large) }, "b", []any{large, "b"}},
		"a large second": {func(p *pairTest) func(context.Context) ([]any, error) { return with(p.runFirst, "a") }, large, []any{"a", large}},
		"no first":       {func(*pairTest) func(context.Context) ([]any, error) { return nothing }, "b", []any{"b"}},
	} {
		p.list += name
		pair, reply, errs := p.make(t.Context(), one.first(p), with(p.runSecond, one.second))
		require.NoError(t, errors.Join(errs[:]...), name)
		require.Equal(t, one.want, reply, name)
		require.True(t, pair.InTime(), name)
	}
}

// A second that sends nothing leaves the first alone.
func TestPairWithoutASecond(t *testing.T) {
	t.Parallel()
	p := newPairTest(t)
	failed := errors.New("it cannot be read")
	pair, _, errs := p.make(t.Context(), with(p.runFirst, "event"), func(context.Context) ([]any, error) { return nil, failed })
	require.NoError(t, errs[0])
	require.ErrorIs(t, errs[1], failed)
	require.True(t, pair.InTime())
	require.Equal(t, []string{"event"}, p.r.Client.LRange(t.Context(), p.list, 0, -1).Val())
}

// The second is not sent when the first fails before it has sent anything; when Redis refuses the first it has been.
func TestPairWhoseFirstFails(t *testing.T) {
	t.Parallel()
	p := newPairTest(t)
	_, _, errs := p.make(t.Context(), func(context.Context) ([]any, error) { return nil, errors.New("bad input") }, with(p.runSecond, "message"))
	require.ErrorContains(t, errs[1], "what it was to follow has not been done")
	require.Empty(t, p.r.Client.LRange(t.Context(), p.list, 0, -1).Val())

	_, reply, errs := p.make(t.Context(), with(p.runFirst, "event", "refuse"), with(p.runSecond, "message"))
	require.ErrorContains(t, errs[0], "refused")
	require.NoError(t, errs[1])
	require.Equal(t, []any{"message"}, reply)
}

// A first that is done by another try, or whose script Redis had forgotten, is done after the second, and
// the pair says so.
func TestPairWhoseFirstIsLate(t *testing.T) {
	t.Parallel()
	p := newPairTest(t)
	r := p.r
	again := func(ctx context.Context) ([]any, error) {
		if _, err := p.runFirst(ctx, "event", "refuse"); err == nil {
			return nil, errors.New("it was not refused")
		}
		return p.runFirst(ctx, "event")
	}
	pair, reply, errs := p.make(t.Context(), again, with(p.runSecond, "message"))
	require.NoError(t, errors.Join(errs[:]...))
	require.Equal(t, []any{"message"}, reply)
	require.False(t, pair.InTime())

	require.NoError(t, r.Client.ScriptFlush(t.Context()).Err())
	require.NoError(t, luascript.Register(t.Context(), r.Client, p.second))
	pair, reply, errs = p.make(t.Context(), with(p.runFirst, "event"), with(p.runSecond, "message"))
	require.NoError(t, errors.Join(errs[:]...))
	require.Equal(t, []any{"message", "event", "message"}, reply)
	require.False(t, pair.InTime())
}

// Who gives up while the other has not come is let go, and neither is sent.
func TestPairIsGivenUp(t *testing.T) {
	t.Parallel()
	p := newPairTest(t)
	for _, gone := range []func(pair *luascript.Pair) error{
		func(pair *luascript.Pair) error { _, err := p.runFirst(pair.First(), "event"); return err },
		func(pair *luascript.Pair) error { _, err := p.runSecond(pair.Second(), "message"); return err },
	} {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		require.ErrorIs(t, gone(luascript.NewPair(ctx)), context.Canceled)
	}
	require.Empty(t, p.r.Client.LRange(t.Context(), p.list, 0, -1).Val())
}
