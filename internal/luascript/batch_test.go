package luascript_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis/internal/luascript"
	"github.com/world-redis/world-redis/internal/redistest"
	"github.com/world-redis/world-redis/internal/replicated"
)

// append adds its argument to a list and returns the list; with a second argument it returns an error reply.
const appendScript = "if ARGV[2] then\nreturn redis.error_reply('ERR refused')\nend\nredis.call('RPUSH', KEYS[1], ARGV[1])\nreturn redis.call('LRANGE', KEYS[1], 0, -1)\n"

func loadAppend(t *testing.T, name string) *luascript.Script {
	t.Helper()
	// Two scripts with the same text would be one to Redis.
	s, err := luascript.Load(fstest.MapFS{"lua/" + name + ".lua": {Data: []byte("-- luacheck: ignore\nlocal name = '" + name + "'\nlocal _ = name\n" + appendScript)}}, "lua", name)
	require.NoError(t, err)
	return s
}

// batchTest sends batches of two stores, an event and a message.
type batchTest struct {
	r              *redistest.Redis
	list           string
	event, message *luascript.Script
	runner         *luascript.Runner
}

// newBatchTest has its own Redis: on the package's, other tests make Redis forget scripts.
func newBatchTest(t *testing.T) *batchTest {
	t.Helper()
	r := redistest.New(t)
	r.Client = redistest.Client(t, redistest.Start(t).Addr)
	b := &batchTest{r: r, list: r.Prefix + "list", event: loadAppend(t, "event"), message: loadAppend(t, "message")}
	b.runner = luascript.NewRunner(r.Client)
	require.NoError(t, luascript.Register(t.Context(), r.Client, b.event, b.message))
	return b
}

// batches are an event and a message that append to the list.
func (b *batchTest) batches(eventArgs []any, messageArgs ...any) []luascript.Batch {
	keys := []string{b.list}
	return []luascript.Batch{
		{Calls: []luascript.Call{{Script: b.event, Keys: keys, Args: eventArgs}}},
		{Calls: []luascript.Call{{Script: b.message, Keys: keys, Args: messageArgs}}},
	}
}

// send sends the batches, both of which must be carried out, and returns the answer to the message.
func (b *batchTest) send(t *testing.T, eventArgs []any, messageArgs ...any) (reply []any, late bool) {
	t.Helper()
	answers := b.runner.RunInOrder(t.Context(), b.batches(eventArgs, messageArgs...)...)
	require.NoError(t, errors.Join(answers[0][0].Err, answers[1][0].Err))
	return answers[1][0].Reply, luascript.Late(answers...)
}

func (b *batchTest) stored(t *testing.T) []string {
	t.Helper()
	return b.r.Client.LRange(t.Context(), b.list, 0, -1).Val()
}

// The batches of two stores are one pipeline, in their order, including the commands before a script; also when one is
// large.
func TestBatchesAreOnePipeline(t *testing.T) {
	t.Parallel()
	b := newBatchTest(t)
	g := &gate{came: make(chan int, 100), open: make(chan struct{})}
	close(g.open)
	b.r.Client.AddHook(g)
	large := strings.Repeat("x", 100_000)
	var want []any
	for _, args := range [][2]string{{"event", "message"}, {"event", "message"}, {large, "message"}, {"event", large}} {
		batches := b.batches([]any{args[0]}, args[1])
		batches[1].Front = func(p redis.Pipeliner) { p.RPush(t.Context(), b.list, "front") }
		answers := b.runner.RunInOrder(t.Context(), batches...)
		require.NoError(t, errors.Join(answers[0][0].Err, answers[1][0].Err))
		require.Equal(t, append(want, args[0]), answers[0][0].Reply)
		want = append(want, args[0], "front", args[1])
		require.Equal(t, want, answers[1][0].Reply)
		require.False(t, luascript.Late(answers...))
		require.Equal(t, 3, <-g.came, "one pipeline")
	}
	require.Empty(t, g.came)
}

// Many concurrent batches share pipelines, and each keeps its order.
func TestManyBatchesAtATime(t *testing.T) {
	t.Parallel()
	b := newBatchTest(t)
	var callers sync.WaitGroup
	runner, g := gated(t, b.r, &callers)
	b.runner = runner
	const many = 50
	for i := range many {
		one := *b
		one.list = fmt.Sprint(b.list, i)
		callers.Go(func() {
			reply, late := one.send(t, []any{"event"}, "message")
			require.Equal(t, []any{"event", "message"}, reply)
			require.False(t, late)
		})
	}
	close(g.open)
	callers.Wait()
	close(g.came)
	pipelines := 0
	for range g.came {
		pipelines++
	}
	require.Less(t, pipelines, many, "callers at the same time shared no pipeline")
}

// A refused batch, or a refused command before a script, does not affect the other batch.
func TestARefusedBatchLeavesTheOthersAlone(t *testing.T) {
	t.Parallel()
	b := newBatchTest(t)
	answers := b.runner.RunInOrder(t.Context(), b.batches([]any{"event", "refuse"}, "message")...)
	require.ErrorContains(t, answers[0][0].Err, "script event: ERR refused")
	require.NoError(t, answers[1][0].Err)
	require.Equal(t, []any{"message"}, answers[1][0].Reply)

	batches := b.batches([]any{"event"}, "message")
	batches[0].Front = func(p redis.Pipeliner) { p.HSet(t.Context(), b.list, "f", "v") } // it is a list
	answers = b.runner.RunInOrder(t.Context(), batches...)
	require.ErrorContains(t, answers[0][0].Err, "script event: WRONGTYPE")
	require.NoError(t, answers[1][0].Err)
}

// A script that Redis has forgotten runs separately, after the scripts that were sent behind it, and Late reports it;
// if Redis has forgotten all of them, they run in their order.
func TestBatchWhoseScriptIsForgotten(t *testing.T) {
	t.Parallel()
	b := newBatchTest(t)
	forget := func(known ...*luascript.Script) {
		require.NoError(t, b.r.Client.ScriptFlush(t.Context()).Err())
		require.NoError(t, luascript.Register(t.Context(), b.r.Client, known...))
		require.NoError(t, b.r.Client.Del(t.Context(), b.list).Err())
	}
	for name, one := range map[string]struct {
		known []*luascript.Script
		want  []string
		late  bool
	}{
		"the event's":   {[]*luascript.Script{b.message}, []string{"message", "event"}, true},
		"the message's": {[]*luascript.Script{b.event}, []string{"event", "message"}, false},
		"both":          {nil, []string{"event", "message"}, false},
		"none":          {[]*luascript.Script{b.event, b.message}, []string{"event", "message"}, false},
	} {
		forget(one.known...)
		_, late := b.send(t, []any{"event"}, "message")
		require.Equal(t, one.late, late, name)
		require.Equal(t, one.want, b.stored(t), name)
	}
}

// A caller that has disconnected sends nothing.
func TestBatchOfACallerThatHasGone(t *testing.T) {
	t.Parallel()
	b := newBatchTest(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, answers := range b.runner.RunInOrder(ctx, b.batches([]any{"event"}, "message")...) {
		require.ErrorIs(t, answers[0].Err, context.Canceled)
	}
	require.Empty(t, b.stored(t))
}

// A batch that writes is sent with the mark of its call, even if other parts only read; commands before a script count
// as writes.
func TestBatchesKeepTheMark(t *testing.T) {
	t.Parallel()
	b := newBatchTest(t)
	marked := &marks{}
	b.r.Client.AddHook(marked)
	read, err := luascript.Load(fstest.MapFS{"lua/read.lua": {Data: []byte("return {redis.call('LLEN', KEYS[1])}")}}, "lua", "read")
	require.NoError(t, err)
	require.NoError(t, luascript.Register(t.Context(), b.r.Client, read))
	reading := luascript.Batch{Calls: []luascript.Call{{Script: read, Keys: []string{b.list}}}}
	fronted := reading
	fronted.Front = func(p redis.Pipeliner) { p.Set(t.Context(), b.list+"front", 1, 0) }
	ctx := replicated.Wanted(t.Context())
	for _, batches := range [][]luascript.Batch{{reading, reading}, {reading, b.batches([]any{"event"})[0]}, {fronted, reading}} {
		for _, answers := range b.runner.RunInOrder(ctx, batches...) {
			require.NoError(t, answers[0].Err)
		}
	}
	require.Equal(t, []bool{false, true, true}, marked.seen)
}

// marks is a go-redis hook that records of each pipeline of scripts whether it is marked.
type marks struct{ seen []bool }

func (m *marks) DialHook(next redis.DialHook) redis.DialHook          { return next }
func (m *marks) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

func (m *marks) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if cmds[len(cmds)-1].Name() == "evalsha" {
			m.seen = append(m.seen, replicated.IsWanted(ctx))
		}
		return next(ctx, cmds)
	}
}
