package setup_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/world-redis/world-redis/internal/redisconn"
	"github.com/world-redis/world-redis/internal/redistest"
	"github.com/world-redis/world-redis/setup"
)

func TestMain(m *testing.M) { redistest.Main(m, goleak.Find) }

// command runs the command as the binary does, without a terminal.
func command(t *testing.T, env map[string]string, in string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	cmd := setup.NewCommand(setup.Environment{Getenv: func(name string) string { return env[name] }})
	var out, errOut bytes.Buffer
	cmd.SetArgs(args)
	cmd.SetIn(strings.NewReader(in))
	cmd.SetOut(&out)
	cmd.SetErr(&errOut)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	err := cmd.ExecuteContext(ctx)
	if err != nil {
		errOut.WriteString(err.Error())
	}
	return setup.ExitCode(err), out.String(), errOut.String()
}

func report(t *testing.T, text string) setup.Report {
	t.Helper()
	var r setup.Report
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.DisallowUnknownFields()
	require.NoError(t, decoder.Decode(&r), text)
	return r
}

func check(t *testing.T, r setup.Report, name string) setup.Check {
	t.Helper()
	for _, c := range r.Checks {
		if c.Name == name {
			return c
		}
	}
	require.Fail(t, "no check "+name)
	return setup.Check{}
}

func counts(r setup.Report) map[string]int64 {
	m := map[string]int64{}
	for _, k := range r.Keys {
		if k.Count > 0 {
			m[k.Kind] = k.Count
		}
	}
	return m
}

// store writes one key of each of many kinds under a prefix, and some asynq keys.
func store(t *testing.T, c redis.UniversalClient, prefix, jobPrefix string) {
	t.Helper()
	ctx := t.Context()
	for i := range 3 {
		require.NoError(t, c.HSet(ctx, fmt.Sprintf("%srun:{wrun_%d}", prefix, i), "s", "running").Err())
	}
	for _, key := range []string{
		"step:{wrun_0}:step_1", "events:by_correlation:{wrun_0}", "hook:{wrun_0}", "hook:hook_1", "hooks:by_token:ab", "runs:index",
		"runs:by_status:running", "locator:00ff", "stream:{a}", "stream_meta:{a}", "stream_req:{a}:1", "streams:by_run:{wrun_0}",
		"queue:{" + jobPrefix + "flows}:idempotency", "apps", "novelty:{run:1}",
	} {
		require.NoError(t, c.Set(ctx, prefix+key, "x", 0).Err())
	}
	for _, key := range []string{"{" + jobPrefix + "flows}:pending", "{" + jobPrefix + "steps}:t:1"} {
		require.NoError(t, c.Set(ctx, "asynq:"+key, "x", 0).Err())
	}
	require.NoError(t, c.SAdd(ctx, "asynq:queues", jobPrefix+"flows", jobPrefix+"steps").Err())
}

func stored() map[string]int64 {
	return map[string]int64{
		"run": 3, "step": 1, "events:by_correlation": 1, "hook": 2, "hooks:by_token": 1, "runs:index": 1, "runs:by_status": 1, "locator": 1,
		"stream": 1, "stream_meta": 1, "stream_req": 1, "streams:by_run": 1, "queue": 1, "apps": 1, "(other)": 1, "asynq": 2,
	}
}

func TestCountsByKindAndJSON(t *testing.T) {
	t.Parallel()
	r := redistest.New(t)
	job := strings.TrimSuffix(r.Prefix, ":") + "_"
	store(t, r.Client, r.Prefix, job)
	code, out, _ := command(t, map[string]string{
		"WORKFLOW_REDIS_URL": "redis://:@" + r.Addr + "/0", "WORKFLOW_REDIS_KEY_PREFIX": r.Prefix, "WORKFLOW_REDIS_JOB_PREFIX": job,
	}, "", "--json")
	require.Equal(t, 0, code)
	got := report(t, out)
	require.Equal(t, stored(), counts(got))
	require.Equal(t, int64(20), got.TotalKeys)
	require.Equal(t, int64(0), got.OtherKeys)
	require.Equal(t, "standalone", got.Mode)
	require.Regexp(t, `^(Redis|Valkey) \d+\.\d+\.\d+`, got.Server)
	require.Equal(t, setup.Warn, got.Verdict, "the test server writes nothing to disk")
	require.Nil(t, got.Queues)
	require.Contains(t, out, `"queues": null`)
	for _, name := range []string{"connection", "version", "mode", "eviction", "memory"} {
		require.Equal(t, setup.OK, check(t, got, name).Verdict, name)
		require.Empty(t, check(t, got, name).Advice)
	}
	require.Equal(t, setup.Check{
		Name: "persistence", Verdict: setup.Warn, Message: "nothing is written to disk",
		Advice: "Turn AOF on (appendonly yes): a restart of Redis loses all runs.",
	}, check(t, got, "persistence"))
}

func TestTheTextSaysTheSame(t *testing.T) {
	t.Parallel()
	r := redistest.New(t)
	store(t, r.Client, r.Prefix, "text_")
	conn, err := redisconn.Open(t.Context(), "redis://"+r.Addr)
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close()) }()
	var out bytes.Buffer
	o := setup.Options{
		Conn: conn, Prefix: r.Prefix, JobPrefix: "text_", Out: &out, Color: true,
		Depths: func(context.Context) ([]setup.QueueDepth, error) {
			return []setup.QueueDepth{{Queue: "text_flows", Pending: 1, Active: 2, Scheduled: 3, Retry: 4, WaitingForApp: 5, Dead: 6}}, nil
		},
	}
	got, err := setup.Run(t.Context(), o)
	require.NoError(t, err)
	require.Equal(t, stored(), counts(got))
	text := out.String()
	require.Contains(t, text, "Redis at redis://"+r.Addr+" (standalone, ")
	require.Contains(t, text, "\x1b[32mok\x1b[0m    eviction     noeviction\n")
	require.Contains(t, text, "\x1b[33mwarn\x1b[0m persistence: Turn AOF on")
	require.Regexp(t, `(?m)^3 +run +hash +runs`, text)
	require.Regexp(t, `(?m)^20 +in all$`, text)
	require.Regexp(t, `(?m)^text_flows +1 +2 +3 +4 +5 +6$`, text)

	out.Reset()
	o.Color, o.Depths = false, func(context.Context) ([]setup.QueueDepth, error) { return nil, errors.New("no such thing") }
	_, err = setup.Run(t.Context(), o)
	require.NoError(t, err)
	require.NotContains(t, out.String(), "\x1b")
	require.Regexp(t, `(?m)^warn  queues +unknown: no such thing$`, out.String())
	require.Contains(t, out.String(), "queue depths: unknown")
}

func TestUnreachableIsExitCodeTwo(t *testing.T) {
	t.Parallel()
	env := map[string]string{"REDIS_URL": "redis://user:secret@127.0.0.1:1/0"}
	code, out, errOut := command(t, env, "")
	require.Equal(t, 2, code)
	require.Empty(t, out)
	require.Contains(t, errOut, "no Redis answers at redis://user:xxxxx@127.0.0.1:1/0")
	require.NotContains(t, errOut, "secret")
	require.NotContains(t, errOut, "\n")

	code, out, errOut = command(t, env, "", "--json")
	require.Equal(t, 2, code)
	require.Empty(t, errOut)
	require.Equal(t, setup.Fail, report(t, out).Verdict)
	require.Contains(t, check(t, report(t, out), "connection").Message, "no Redis answers at")
	require.NotContains(t, out, "secret")
}

func TestWithoutAnAddressThereIsNothingToCheck(t *testing.T) {
	t.Parallel()
	code, out, _ := command(t, nil, "")
	require.Equal(t, 0, code)
	require.Contains(t, out, "no Redis is configured")
	code, out, _ = command(t, nil, "", "--json")
	require.Equal(t, 0, code)
	require.Equal(t, setup.Warn, report(t, out).Verdict)
	require.Equal(t, "embedded", report(t, out).Mode)
	code, _, _ = command(t, map[string]string{"WORKFLOW_WORLD_ENV": "production"}, "")
	require.Equal(t, 1, code)
	code, _, errOut := command(t, nil, "", "--flush", "--yes")
	require.Equal(t, 1, code)
	require.Contains(t, errOut, "nothing was deleted")
}

const (
	waitLong = 30 * time.Second
	tick     = 10 * time.Millisecond
)

// With Sentinels, the master is checked.
func TestSentinelsMasterIsCheckedAndCounted(t *testing.T) {
	t.Parallel()
	r, _ := redistest.StartSentinel(t)
	for i := range 1200 {
		require.NoError(t, r.Client.Set(t.Context(), fmt.Sprintf("workflow:run:{%d}", i), "x", 0).Err())
		require.NoError(t, r.Client.Set(t.Context(), fmt.Sprintf("others:run:{%d}", i), "x", 0).Err())
	}
	code, out, errOut := command(t, nil, "", "--redis", r.URL(), "--json")
	require.Equal(t, 0, code, errOut)
	require.Equal(t, map[string]int64{"run": 1200}, counts(report(t, out)))
	require.Equal(t, setup.OK, check(t, report(t, out), "rights").Verdict)
}
