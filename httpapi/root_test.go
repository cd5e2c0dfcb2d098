package httpapi

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// A program that opens the address gets JSON, a person a page. The version is only for those
// who may call the service.
func TestRootSaysWhereToLook(t *testing.T) {
	t.Parallel()
	versioned := func(c *Config, _ *Deps) { c.Version = "1.2.3<b>" }
	open := newServer(t, newFakes(t), versioned)
	secured := newServer(t, newFakes(t), versioned, withTokens("secret"))
	root := func(s *Server, header map[string]string) (body map[string]string) {
		w := call{method: http.MethodGet, target: "/", header: header}.do(t, s)
		require.Equal(t, http.StatusOK, w.Code)
		require.Equal(t, "application/json", w.Header().Get("Content-Type"))
		require.Equal(t, "Accept", w.Header().Get("Vary"))
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &body))
		return body
	}
	want := map[string]string{
		"service": "world-redis", "about": "a World for the Workflow SDK; apps reach it by WORKFLOW_WORLD_URL",
		"documents": documents, "openapi": "/openapi.json", "alive": "/healthz", "ready": "/readyz",
	}
	require.Equal(t, want, root(secured, nil))
	require.Equal(t, want, root(secured, map[string]string{"Authorization": "Bearer wrong"}))
	want["version"] = "1.2.3<b>"
	require.Equal(t, want, root(open, map[string]string{"Accept": "*/*"}))
	require.Equal(t, want, root(secured, map[string]string{"Authorization": "Bearer secret"}))

	browser := map[string]string{"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
	w := call{method: http.MethodGet, target: "/", header: browser}.do(t, open)
	require.Equal(t, "text/html; charset=UTF-8", w.Header().Get("Content-Type"))
	require.Equal(t, "default-src 'none'; frame-ancestors 'none'", w.Header().Get("Content-Security-Policy"))
	for _, part := range []string{"<h1>world-redis 1.2.3&lt;b&gt;</h1>", `href="/openapi.json"`, `href="/readyz"`, `href="` + documents + `"`} {
		require.Contains(t, w.Body.String(), part)
	}
	w = call{method: http.MethodGet, target: "/", header: browser}.do(t, secured)
	require.Contains(t, w.Body.String(), "<h1>world-redis</h1>")
	require.NotContains(t, w.Body.String(), "1.2.3")
}
