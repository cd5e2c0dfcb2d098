package operations

import (
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The client bundles exactly the calls that the table allows: a bundle with another call is refused as a whole, and the
// client then makes all calls separately for a minute.
func TestTheClientBundlesWhatTheTableSays(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("../../../client/src/transport/bundles.ts")
	require.NoError(t, err)
	paths := map[string][]string{}
	for _, o := range Bundled() {
		require.True(t, strings.HasPrefix(o.Path, "/v1/"), o.Path)
		require.NotNil(t, o.Serve, o.Path)
		paths[o.Method] = append(paths[o.Method], strings.TrimPrefix(o.Path, "/v1/"))
	}
	require.Len(t, paths, 2)
	escaped := func(paths []string) string {
		text := regexp.MustCompile(`\{\w+\}`).ReplaceAllString(strings.Join(paths, "|"), "[^/?]+")
		return regexp.MustCompile(`([^^])/([^?])`).ReplaceAllString(text, `$1\/$2`)
	}
	lines := regexp.MustCompile(`(?m)^const (POSTS|GETS) = .*$`).FindAllString(string(source), -1)
	require.Equal(t, []string{
		`const POSTS = /^\/v1\/(` + escaped(paths[http.MethodPost]) + `)$/;`,
		`const GETS = /^\/v1\/(` + escaped(paths[http.MethodGet]) + `)(\?.*)?$/;`,
	}, lines)
}

// A bundle finds an operation by its path as the router does.
func TestOperationsAreFoundByTheirPaths(t *testing.T) {
	t.Parallel()
	for _, o := range Table() {
		require.LessOrEqual(t, len(o.Names), MostParams, o.Path)
	}
	find := func(method, path string) (route string, params [MostParams]string) {
		for _, o := range Bundled() {
			if o.Method == method && o.Match(path, &params) {
				return o.Route, params
			}
		}
		return "", params
	}
	for _, c := range []struct {
		method, path, route string
		params              [MostParams]string
	}{
		{http.MethodPost, "/v1/events", "/v1/events", [MostParams]string{}},
		{http.MethodPost, "/v1/queue", "/v1/queue", [MostParams]string{}},
		{http.MethodPost, "/v1/runs/r%20/events", "/v1/runs/:runId/events", [MostParams]string{"r%20"}},
		{http.MethodGet, "/v1/runs/r", "/v1/runs/:runId", [MostParams]string{"r"}},
		{http.MethodGet, "/v1/runs/lost", "/v1/runs/lost", [MostParams]string{}},
		{http.MethodGet, "/v1/runs/r/steps/s", "/v1/runs/:runId/steps/:stepId", [MostParams]string{"r", "s"}},
		{http.MethodGet, "/v1/runs/lost/steps/s", "/v1/runs/:runId/steps/:stepId", [MostParams]string{"lost", "s"}},
	} {
		route, params := find(c.method, c.path)
		require.Equal(t, c.route, route, c.path)
		require.Equal(t, c.params, params, c.path)
	}
	for _, path := range []string{
		"", "/", "/v1", "/v1/runs", "/v1/runs/", "/v1/runs//steps/s", "/v1/runs/r/steps/", "/v1/runs/r/steps", "/v1/runs/r/", "/v1/runs/r/steps/s/t",
		"/v1/runs/r?", "/v1/queue", "/v1/runs/r/events", "v1/runs/r", "/v1/runs/r/steps/s?q",
	} {
		route, _ := find(http.MethodGet, path)
		require.Empty(t, route, path)
	}
	for _, path := range []string{"/v1/events/", "/v1/events?q", "/v1/queue/redrive", "/v1/runs/r/events/batch", "/v1/runs//events", "/v1/runs/r", "/v1/runs/a/b/events"} {
		route, _ := find(http.MethodPost, path)
		require.Empty(t, route, path)
	}
}
