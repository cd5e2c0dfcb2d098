package main

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis/embedded"
)

func TestConfigDefaultsAreThoseOfTheDocs(t *testing.T) {
	t.Parallel()
	c, unknown, err := loadConfig(nil)
	require.NoError(t, err)
	require.Empty(t, unknown)
	require.Equal(t, "workflow:", c.KeyPrefix)
	require.Equal(t, "workflow_", c.JobPrefix)
	require.Equal(t, 100, c.FlowConcurrency)
	require.Equal(t, 100, c.StepConcurrency)
	require.Equal(t, "127.0.0.1:8787", c.Listen)
	require.EqualValues(t, 64<<20, c.MaxBody)
	require.Equal(t, 30*24*time.Hour, c.HookRetention)
	require.Empty(t, c.RedisURL)
}

func TestConfigTakesTheSpecificSettingBeforeTheGeneral(t *testing.T) {
	t.Parallel()
	c, _, err := loadConfig([]string{
		"REDIS_URL=redis://a:1", "WORKFLOW_REDIS_URL=redis://b:2",
		"WORKFLOW_REDIS_WORKER_CONCURRENCY=7", "WORKFLOW_REDIS_STEP_CONCURRENCY=3",
		"WORKFLOW_WORLD_TOKEN= new ,old,",
	})
	require.NoError(t, err)
	require.Equal(t, "redis://b:2", c.RedisURL)
	require.Equal(t, 7, c.FlowConcurrency)
	require.Equal(t, 3, c.StepConcurrency)
	require.Equal(t, []string{"new", "old"}, c.tokens())
	c, _, err = loadConfig([]string{"REDIS_URL=redis://a:1"})
	require.NoError(t, err)
	require.Equal(t, "redis://a:1", c.RedisURL)
}

func TestConfigReportsAMisspeltVariable(t *testing.T) {
	t.Parallel()
	_, unknown, err := loadConfig([]string{"WORKFLOW_REDIS_PREFIX=x", "WORKFLOW_WORLD_URL=http://x", "WORKFLOW_TARGET_WORLD=y", "OTHER=z"})
	require.NoError(t, err)
	require.Equal(t, []string{"WORKFLOW_REDIS_PREFIX"}, unknown, "the client's own variable is known, foreign ones are none of our business")
}

func TestConfigRefusesWhatCannotWork(t *testing.T) {
	t.Parallel()
	for variable, want := range map[string]string{
		"WORKFLOW_REDIS_WORKER_CONCURRENCY=ten":            "a setting cannot be read",
		"WORKFLOW_REDIS_WORKER_CONCURRENCY=0":              "must be at least 1",
		"WORKFLOW_WORLD_DURABILITY=replicas:0":             `"replicas:0": use local, replicas or replicas:n`,
		"WORKFLOW_WORLD_DURABILITY=replicas":               "the embedded Redis has none",
		"WORKFLOW_REDIS_KEY_PREFIX=a{b}":                   "WORKFLOW_REDIS_KEY_PREFIX",
		"WORKFLOW_REDIS_JOB_PREFIX=a:b":                    "WORKFLOW_REDIS_JOB_PREFIX",
		"WORKFLOW_WORLD_MAX_BODY=1":                        "WORKFLOW_WORLD_MAX_BODY",
		"WORKFLOW_WORLD_SHUTDOWN_GRACE=-1s":                "WORKFLOW_WORLD_SHUTDOWN_GRACE",
		"WORKFLOW_WORLD_LOG_FORMAT=xml":                    "WORKFLOW_WORLD_LOG_FORMAT",
		"WORKFLOW_BASE_URL=localhost:3000":                 "WORKFLOW_BASE_URL",
		"WORKFLOW_WORLD_ENV=production":                    "no Redis is configured",
		"WORKFLOW_WORLD_NAMESPACES=Shop=t":                 "no valid name",
		"WORKFLOW_WORLD_NAMESPACES=a=t,b_c=u":              "entry 2 has no valid name",
		"WORKFLOW_WORLD_NAMESPACES=a=t,u":                  "entry 2 has no token",
		"WORKFLOW_WORLD_NAMESPACES=a=t,a=u":                "a is listed twice",
		"WORKFLOW_WORLD_NAMESPACES=a=t,b=u|t":              "b has the same token as a",
		"WORKFLOW_WORLD_NAMESPACES=default=t":              "has no entry",
		"WORKFLOW_WORLD_SIGNING_KEY=short":                 "fewer than 16 characters",
		"WORKFLOW_WORLD_TOKEN=" + strings.Repeat("t,", 51): "more than 50 keys",
		"WORKFLOW_WORLD_HOOK_RETENTION=30":                 "a setting cannot be read",
		"WORKFLOW_WORLD_REMOVED_FOR=23h":                   "WORKFLOW_WORLD_REMOVED_FOR must be at least 24h",
		"WORKFLOW_WORLD_REMOVED_FOR=9000h":                 "at most 8760h",
		"WORKFLOW_WORLD_RETENTION=completed=7y":            `WORKFLOW_WORLD_RETENTION: the rule "completed=7y": the duration "7y" cannot be read`,
		"WORKFLOW_WORLD_RETENTION=report-*=1h":             "has no status: write it as report-*:completed=1h",
		"WORKFLOW_WORLD_ARCHIVE_AFTER=0":                   "WORKFLOW_WORLD_ARCHIVE_AFTER must be positive",
		"WORKFLOW_WORLD_ARCHIVE_STREAMS=no":                "use on or off",
		"WORKFLOW_WORLD_HOOK_RETENTION=0":                  "WORKFLOW_WORLD_HOOK_RETENTION",
	} {
		_, _, err := loadConfig([]string{variable})
		require.ErrorContains(t, err, want, variable)
	}
	_, _, err := loadConfig([]string{"WORKFLOW_BASE_URL=http://me:secret@app example"})
	require.ErrorContains(t, err, "WORKFLOW_BASE_URL")
	require.NotContains(t, err.Error(), "secret")
}

func TestConfigSignsWithItsKeysOrOneForEachToken(t *testing.T) {
	t.Parallel()
	c, _, err := loadConfig([]string{"WORKFLOW_WORLD_TOKEN=new,old"})
	require.NoError(t, err)
	require.Equal(t, [][]byte{embedded.KeyFromToken("new"), embedded.KeyFromToken("old")}, c.signingKeys())
	c, _, err = loadConfig([]string{"WORKFLOW_WORLD_TOKEN=new,old", "WORKFLOW_WORLD_SIGNING_KEY=0123456789abcdef, fedcba9876543210"})
	require.NoError(t, err)
	require.Equal(t, [][]byte{[]byte("0123456789abcdef"), []byte("fedcba9876543210")}, c.signingKeys())
	c, _, err = loadConfig(nil)
	require.NoError(t, err)
	require.Empty(t, c.signingKeys())
}

func TestConfigNamespacesHaveTokensKeysAndPrefixesOfTheirOwn(t *testing.T) {
	t.Parallel()
	c, _, err := loadConfig([]string{
		"WORKFLOW_WORLD_TOKEN=main", "WORKFLOW_WORLD_SIGNING_KEY=0123456789abcdef", "WORKFLOW_BASE_URL=http://app",
		"WORKFLOW_WORLD_NAMESPACES= shop = new | old , blog2=t=3",
	})
	require.NoError(t, err)
	all, err := c.namespaces()
	require.NoError(t, err)
	require.Equal(t, []namespace{
		{tokens: []string{"main"}, signingKeys: [][]byte{[]byte("0123456789abcdef")}, keyPrefix: "workflow:", jobPrefix: "workflow_", baseURL: "http://app"},
		{
			name: "shop", tokens: []string{"new", "old"}, signingKeys: [][]byte{embedded.KeyFromToken("new"), embedded.KeyFromToken("old")},
			keyPrefix: "workflow:ns:shop:", jobPrefix: "workflow_shop_",
		},
		{name: "blog2", tokens: []string{"t=3"}, signingKeys: [][]byte{embedded.KeyFromToken("t=3")}, keyPrefix: "workflow:ns:blog2:", jobPrefix: "workflow_blog2_"},
	}, all)
	_, _, err = loadConfig([]string{"WORKFLOW_WORLD_TOKEN=main", "WORKFLOW_WORLD_NAMESPACES=a=main"})
	require.ErrorContains(t, err, "a has the same token as the default one")
}

// BR-26: a service in production that does not sign logs a warning at its start.
func TestProductionWithoutAKeyIsAWarning(t *testing.T) {
	t.Parallel()
	for variable, warned := range map[string]bool{
		"OTHER=x": true, "WORKFLOW_WORLD_TOKEN=x": false, "WORKFLOW_WORLD_SIGNING_KEY=0123456789abcdef": false,
	} {
		c, _, err := loadConfig([]string{"WORKFLOW_WORLD_ENV=production", "WORKFLOW_REDIS_URL=redis://x", variable})
		require.NoError(t, err)
		var out bytes.Buffer
		warnOfMissingKey(c, slog.New(slog.NewTextHandler(&out, nil)))
		require.Equal(t, warned, strings.Contains(out.String(), "NOT SIGNED"), variable)
	}
	var out bytes.Buffer
	warnOfMissingKey(config{}, slog.New(slog.NewTextHandler(&out, nil)))
	require.Empty(t, out.String(), "a machine for trying things out")
}

func TestEnvListsEverySettingWithItsMeaning(t *testing.T) {
	t.Parallel()
	root := rootCommand()
	var out bytes.Buffer
	root.SetOut(&out)
	root.SetArgs([]string{"env"})
	require.NoError(t, root.Execute())
	for _, s := range settings() {
		require.NotEmpty(t, s.Help, s.Name)
		require.Contains(t, out.String(), s.Name)
	}
}

// The output of `env` is pasted into tickets and chats.
func TestEnvShowsNoPasswords(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, value, want string }{
		{"WORKFLOW_WORLD_TOKEN", "secret", "(set, hidden)"},
		{"WORKFLOW_WORLD_METRICS_TOKEN", "secret", "(set, hidden)"},
		{"WORKFLOW_WORLD_NAMESPACES", "a=secret", "(set, hidden)"},
		{"WORKFLOW_WORLD_SIGNING_KEY", "secret", "(set, hidden)"},
		{"REDIS_URL", "redis://x", "(set, hidden)"},
		{"WORKFLOW_BASE_URL", "https://me:secret@app.example/base", "https://me:xxxxx@app.example/base"},
		{"WORKFLOW_WORLD_PROXY", "http://me:secret@proxy.example:3128", "http://me:xxxxx@proxy.example:3128"},
		{"WORKFLOW_BASE_URL", "https://me:sec%ret@app.example", "(set, hidden: it is not a valid URL and may contain a password)"},
		{"WORKFLOW_BASE_URL", "http://localhost:3000", "http://localhost:3000"},
		{"WORKFLOW_WORLD_LISTEN", "127.0.0.1:8787", "127.0.0.1:8787"},
		{"WORKFLOW_WORLD_SHUTDOWN_GRACE", "30s", "30s"},
	} {
		require.Equal(t, c.want, shown(c.name, c.value), c.name)
	}
}
