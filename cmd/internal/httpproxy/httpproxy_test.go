package httpproxy_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis/cmd/internal/httpproxy"
)

func via(t *testing.T, setting, target string) string {
	t.Helper()
	choose, err := httpproxy.Parse(setting)
	require.NoError(t, err)
	if choose == nil {
		return ""
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, target, http.NoBody)
	require.NoError(t, err)
	u, err := choose(r)
	require.NoError(t, err)
	if u == nil {
		return ""
	}
	return u.String()
}

func TestTheSettingAloneDecides(t *testing.T) {
	t.Parallel()
	const proxy = "http://user:secret@proxy:3128"
	for _, target := range []string{"http://app:3000/x", "https://app.example/x", "http://10.0.0.5:3000"} {
		require.Empty(t, via(t, "", target))
		require.Equal(t, proxy, via(t, proxy, target))
	}
	for _, target := range []string{"http://localhost:3000/x", "http://127.0.0.1:3000", "http://127.8.8.8", "http://[::1]:3000/"} {
		require.Empty(t, via(t, proxy, target), "a proxy elsewhere does not find this machine under that name")
	}
	for _, bad := range []string{"proxy:3128", "socks5://proxy", "http://", "http://proxy/path", "yes", "http://a b", "ENV"} {
		_, err := httpproxy.Parse(bad)
		require.ErrorContains(t, err, "WORKFLOW_WORLD_PROXY must be", bad)
		require.NotContains(t, err.Error(), "proxy:3128")
	}
	choose, err := httpproxy.Parse("env")
	require.NoError(t, err)
	require.NotNil(t, choose)
}

func TestPasswordsAreNotShown(t *testing.T) {
	t.Parallel()
	getenv := func(name string) string {
		return map[string]string{"HTTP_PROXY": "http://u:secret@a:1", "https_proxy": "u:secret@b:2", "NO_PROXY": ".local"}[name]
	}
	require.Equal(t, "http://u:xxxxx@p:1", httpproxy.Describe("http://u:secret@p:1", getenv))
	require.Equal(t, "HTTP_PROXY=http://u:xxxxx@a:1 HTTPS_PROXY=b:2 NO_PROXY=.local", httpproxy.Describe("env", getenv))
	require.Equal(t, "HTTP_PROXY=http://u:xxxxx@a:1 HTTPS_PROXY=b:2", httpproxy.Ignored("", getenv))
	require.Empty(t, httpproxy.Ignored("env", getenv))
	require.Empty(t, httpproxy.Ignored("", func(string) string { return "" }))
}
