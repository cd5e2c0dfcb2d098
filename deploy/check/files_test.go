package check

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

const root = "../.."

// The chart, the client and so the npm packages have one version; the release workflow compares it with the tag.
func TestVersionsAgree(t *testing.T) {
	t.Parallel()
	var client struct {
		Version string `json:"version"`
	}
	require.NoError(t, json.Unmarshal(read(t, "client/package.json"), &client))
	assert.Equal(t, client.Version, chartVersion(t))
}

func chartVersion(t *testing.T) string {
	t.Helper()
	var c struct {
		Version    string `json:"version"`
		AppVersion string `json:"appVersion"`
	}
	require.NoError(t, yaml.Unmarshal(read(t, "deploy/helm/world-redis/Chart.yaml"), &c))
	require.Equal(t, c.Version, c.AppVersion)
	return c.Version
}

// The image that is published has the content of the one that a clone builds.
func TestBothImagesAgree(t *testing.T) {
	t.Parallel()
	after := func(path string) []string {
		_, text, found := strings.Cut(string(read(t, path)), "\nUSER ")
		require.True(t, found, path)
		return regexp.MustCompile(`(?m)^[^#\s].*(?:\n .*)*`).FindAllString("USER "+text, -1)
	}
	assert.Equal(t, after("Dockerfile"), after("deploy/docker/Dockerfile"))
}

func TestUnitOfSystemd(t *testing.T) {
	t.Parallel()
	known := knownSettings(t)
	unit := string(read(t, "deploy/systemd/world-redis.service"))
	for _, text := range []string{unit, string(read(t, "deploy/systemd/env.example"))} {
		for _, name := range regexp.MustCompile(`(?m)^(?:Environment=|#)?(WORKFLOW_\w+)=`).FindAllStringSubmatch(text, -1) {
			assert.Contains(t, known, name[1])
		}
	}
	stop := regexp.MustCompile(`(?m)^TimeoutStopSec=(\d+)$`).FindStringSubmatch(unit)
	require.NotNil(t, stop)
	assert.Greater(t, seconds(t, stop[1]+"s"), seconds(t, known["WORKFLOW_WORLD_SHUTDOWN_GRACE"])+10)
}

// knownSettings are the settings of the service, from its source, with their defaults.
func knownSettings(t *testing.T) map[string]string {
	t.Helper()
	known := map[string]string{}
	for _, found := range regexp.MustCompile("`env:\"(\\w+)\"(?: envDefault:\"([^\"]*)\")?").FindAllSubmatch(read(t, "cmd/world-redis/config.go"), -1) {
		known[string(found[1])] = string(found[2])
	}
	require.Greater(t, len(known), 20)
	return known
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, path))
	require.NoError(t, err)
	return text
}

func seconds(t *testing.T, duration string) int64 {
	t.Helper()
	d, err := time.ParseDuration(duration)
	require.NoError(t, err)
	return int64(d.Seconds())
}
