package check

import (
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func load(t *testing.T, env []string, profiles ...string) (*types.Project, error) {
	t.Helper()
	options, err := cli.NewProjectOptions([]string{filepath.Join(root, "docker-compose.yml")},
		cli.WithEnv(env), cli.WithProfiles(profiles), cli.WithName("world-redis"))
	require.NoError(t, err)
	return options.LoadProject(t.Context())
}

// The parser is Compose's own: it checks the file against the schema of the specification.
func TestComposeFile(t *testing.T) {
	t.Parallel()
	_, err := load(t, nil)
	require.ErrorContains(t, err, "WORKFLOW_WORLD_TOKEN")

	token := "a-token-of-some-length"
	env := []string{"WORKFLOW_WORLD_TOKEN=" + token}
	p, err := load(t, env)
	require.NoError(t, err)
	assert.ElementsMatch(t, []string{"redis", "world-redis", "app"}, p.ServiceNames())

	insight, err := load(t, env, "insight")
	require.NoError(t, err)
	assert.ElementsMatch(t, []string{"redis", "world-redis", "app", "redisinsight"}, insight.ServiceNames())
	for name, s := range insight.Services {
		if s.Image != "" {
			assert.Regexp(t, regexp.MustCompile(`:\d+\.\d+\.\d+(@sha256:[0-9a-f]{64})?$`), s.Image, name)
		}
		for _, port := range s.Ports {
			assert.Equal(t, "127.0.0.1", port.HostIP, name)
		}
	}

	world, app := p.Services["world-redis"], p.Services["app"]
	assert.Equal(t, types.HealthCheckTest{"CMD", "/usr/local/bin/world-redis", "health"}, world.HealthCheck.Test)
	assert.Equal(t, "service_healthy", world.DependsOn["redis"].Condition)
	assert.Equal(t, "service_healthy", app.DependsOn["world-redis"].Condition)
	for name, s := range map[string]types.ServiceConfig{"world-redis": world, "app": app} {
		assert.Equal(t, token, *s.Environment["WORKFLOW_WORLD_TOKEN"], name)
		require.FileExists(t, filepath.Join(s.Build.Context, s.Build.Dockerfile), name)
	}
	require.FileExists(t, filepath.Join(app.Build.AdditionalContexts["client"], "world-redis.cjs"))
	assert.Equal(t, "http://app:3000", *app.Environment["WORKFLOW_BASE_URL"])

	known := knownSettings(t)
	for name := range world.Environment {
		assert.Contains(t, known, name)
	}
	grace := seconds(t, known["WORKFLOW_WORLD_SHUTDOWN_GRACE"])
	assert.Greater(t, time.Duration(*world.StopGracePeriod), time.Duration(grace+10)*time.Second)
}
