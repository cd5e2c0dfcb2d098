package httpapi

import (
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The client sends in bundles what the table says may be in one, and nothing else: a bundle with another call is refused as a
// whole, and the client then makes all calls one by one for a minute.
func TestTheClientBundlesWhatTheTableSays(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("../client/src/transport/bundles.ts")
	require.NoError(t, err)
	paths := map[string][]string{}
	for _, o := range bundledOf(operations()) {
		require.True(t, strings.HasPrefix(o.path, "/v1/"), o.path)
		require.NotNil(t, o.serve, o.path)
		paths[o.method] = append(paths[o.method], strings.TrimPrefix(o.path, "/v1/"))
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

// An operation has one way to be made, and a bundle finds it by its path as the router does.
func TestOperationsAreFoundByTheirPaths(t *testing.T) {
	t.Parallel()
	table := operations()
	for _, o := range table {
		ways := 0
		for _, way := range []bool{o.serve != nil, o.http != nil, o.own != nil} {
			if way {
				ways++
			}
		}
		require.Equal(t, 1, ways, o.path)
		require.LessOrEqual(t, len(o.names), mostParams, o.path)
	}
	find := func(method, path string) (route string, params [mostParams]string) {
		for _, o := range bundledOf(table) {
			if o.method == method && o.match(path, &params) {
				return o.route, params
			}
		}
		return "", params
	}
	for _, c := range []struct {
		method, path, route string
		params              [mostParams]string
	}{
		{http.MethodPost, "/v1/events", "/v1/events", [mostParams]string{}},
		{http.MethodPost, "/v1/queue", "/v1/queue", [mostParams]string{}},
		{http.MethodPost, "/v1/runs/r%20/events", "/v1/runs/:runId/events", [mostParams]string{"r%20"}},
		{http.MethodGet, "/v1/runs/r", "/v1/runs/:runId", [mostParams]string{"r"}},
		{http.MethodGet, "/v1/runs/lost", "/v1/runs/lost", [mostParams]string{}},
		{http.MethodGet, "/v1/runs/r/steps/s", "/v1/runs/:runId/steps/:stepId", [mostParams]string{"r", "s"}},
		{http.MethodGet, "/v1/runs/lost/steps/s", "/v1/runs/:runId/steps/:stepId", [mostParams]string{"lost", "s"}},
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
