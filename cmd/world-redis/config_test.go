package main

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
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
		"WORKFLOW_REDIS_WORKER_CONCURRENCY=ten": "a setting cannot be read",
		"WORKFLOW_REDIS_WORKER_CONCURRENCY=0":   "must be at least 1",
		"WORKFLOW_REDIS_KEY_PREFIX=a{b}":        "WORKFLOW_REDIS_KEY_PREFIX",
		"WORKFLOW_REDIS_JOB_PREFIX=a:b":         "WORKFLOW_REDIS_JOB_PREFIX",
		"WORKFLOW_WORLD_MAX_BODY=1":             "WORKFLOW_WORLD_MAX_BODY",
		"WORKFLOW_WORLD_SHUTDOWN_GRACE=-1s":     "WORKFLOW_WORLD_SHUTDOWN_GRACE",
		"WORKFLOW_WORLD_HOOK_RETENTION=30":      "a setting cannot be read",
		"WORKFLOW_WORLD_HOOK_RETENTION=0":       "WORKFLOW_WORLD_HOOK_RETENTION",
		"WORKFLOW_WORLD_LOG_FORMAT=xml":         "WORKFLOW_WORLD_LOG_FORMAT",
		"WORKFLOW_BASE_URL=localhost:3000":      "WORKFLOW_BASE_URL",
		"WORKFLOW_WORLD_ENV=production":         "no Redis is configured",
	} {
		_, _, err := loadConfig([]string{variable})
		require.ErrorContains(t, err, want, variable)
	}
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
