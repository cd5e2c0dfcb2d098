package setup_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis/internal/redisconn"
	"github.com/world-redis/world-redis/internal/redistest"
	"github.com/world-redis/world-redis/setup"
)

// The keys of another installation stay, however similar its prefix is.
func TestFlushDeletesThisPrefixAndNothingElse(t *testing.T) {
	t.Parallel()
	r := redistest.New(t)
	ctx := t.Context()
	mine, job := r.Prefix+`w[o]?*\^:`, "m[*]_"+rnd(r)
	store(t, r.Client, mine, job)
	others := []string{r.Prefix + `wo?x\^:`, r.Prefix + "wox:", mine + "staging:", r.Prefix}
	for i, prefix := range others[:3] {
		store(t, r.Client, prefix, fmt.Sprint("mx_", i, rnd(r)))
	}
	foreign := []string{r.Prefix + "plain", "asynq:{" + job + "flows2}:pending", "asynq:{x" + job + "flows}:pending"}
	for _, key := range foreign {
		require.NoError(t, r.Client.Set(ctx, key, "x", 0).Err())
	}
	require.NoError(t, r.Client.Del(ctx, mine+"staging:novelty:{run:1}").Err()) // its installation is not known
	before := keys(t, r)

	args := []string{"--redis", r.URL(), "--prefix", mine, "--job-prefix", job, "--flush", "--yes"}
	code, out, errOut := command(t, nil, "", args...)
	require.Equal(t, 0, code, errOut)
	require.Contains(t, out, "20 keys under")
	require.Contains(t, out, "17 more keys begin with")

	after := keys(t, r)
	require.Len(t, after, len(before)-20)
	for _, key := range foreign {
		require.Contains(t, after, key)
	}
	for key := range after {
		require.False(t, strings.HasPrefix(key, mine) && !strings.HasPrefix(key, mine+"staging:"), key)
		require.False(t, strings.HasPrefix(key, "asynq:{"+job+"flows}"), key)
	}
	queues := r.Client.SMembers(ctx, "asynq:queues").Val()
	require.NotContains(t, queues, job+"flows")
	require.NotContains(t, queues, job+"steps")
	require.Contains(t, queues, "mx_0"+rnd(r)+"flows")

	// There is nothing left to delete, which is not an error.
	code, out, _ = command(t, nil, "", append(args, "--json")...)
	require.Equal(t, 0, code)
	require.Equal(t, &setup.Flushed{}, report(t, out).Flushed)
}

func rnd(r *redistest.Redis) string { return strings.TrimSuffix(r.Prefix, ":") + "_" }

// keys are this test's keys; other tests use the same server.
func keys(t *testing.T, r *redistest.Redis) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	for _, key := range r.Client.Keys(t.Context(), "*").Val() {
		if strings.Contains(key, strings.TrimSuffix(r.Prefix, ":")) {
			found[key] = true
		}
	}
	return found
}

// Many keys are deleted in batches, with progress.
func TestFlushShowsProgress(t *testing.T) {
	t.Parallel()
	r := redistest.New(t)
	pipe := r.Client.Pipeline()
	for i := range 25_000 {
		pipe.Set(t.Context(), fmt.Sprintf("%srun:{wrun_%d}", r.Prefix, i), "x", 0)
	}
	_, err := pipe.Exec(t.Context())
	require.NoError(t, err)
	code, out, errOut := command(t, nil, "", "--redis", r.URL(), "--prefix", r.Prefix, "--job-prefix", "p_", "--flush", "--yes")
	require.Equal(t, 0, code)
	require.Contains(t, out, "25000 keys under")
	require.Regexp(t, `^deleted 1\d{4} of 25000 keys\ndeleted 2\d{4} of 25000 keys\n$`, errOut)
	require.Empty(t, keys(t, r))
}

// A flush asks, and only the exact prefix confirms it.
func TestFlushAsks(t *testing.T) {
	t.Parallel()
	r := redistest.New(t)
	store(t, r.Client, r.Prefix, rnd(r))
	code, _, errOut := command(t, nil, r.Prefix+"\n", "--redis", r.URL(), "--prefix", r.Prefix, "--job-prefix", rnd(r), "--flush")
	require.Equal(t, 1, code)
	require.Contains(t, errOut, "there is no terminal to ask for confirmation, so --flush needs --yes")

	conn, err := redisconn.Open(t.Context(), r.URL())
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close()) }()
	ask := func(ctx context.Context, in io.Reader) (string, error) {
		var out bytes.Buffer
		_, err := setup.Run(ctx, setup.Options{
			Conn: conn, Prefix: r.Prefix, JobPrefix: rnd(r), Flush: true, Interactive: true, In: in, Out: &out,
		})
		return out.String(), err
	}
	for _, answer := range []string{"", "\n", "yes\n", r.Prefix + "x\n", strings.TrimSuffix(r.Prefix, ":") + "\n"} {
		out, err := ask(t.Context(), strings.NewReader(answer))
		require.ErrorContains(t, err, "nothing was deleted: that is not the prefix", answer)
		require.Contains(t, out, "This deletes 20 keys")
	}
	reader, writer := io.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	asked := make(chan error, 1)
	go func() {
		_, err := ask(ctx, reader)
		asked <- err
	}()
	_, err = writer.Write([]byte(r.Prefix)) // no line end, then Ctrl-C
	require.NoError(t, err)
	cancel()
	require.ErrorIs(t, <-asked, context.Canceled)
	require.NoError(t, writer.Close())

	require.Len(t, keys(t, r), 20)
	out, err := ask(t.Context(), strings.NewReader(r.Prefix+"\r\n"))
	require.NoError(t, err)
	require.Contains(t, out, "\rdeleted 20 of 20 keys\n")
	require.Empty(t, keys(t, r))
}

func TestAPrefixThatWouldTakeEverythingIsRefused(t *testing.T) {
	t.Parallel()
	r := redistest.New(t)
	for _, args := range [][]string{{"--prefix", ""}, {"--prefix", "a{b"}, {"--job-prefix", ""}, {"--job-prefix", "}"}} {
		code, _, errOut := command(t, nil, "", append(args, "--redis", r.URL(), "--flush", "--yes")...)
		require.Equal(t, 1, code)
		require.Contains(t, errOut, "must not be empty or contain braces")
	}
}
