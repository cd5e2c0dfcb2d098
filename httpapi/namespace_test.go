package httpapi

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
)

// withNamespace builds a server with a default namespace and one called "shop".
func withNamespace(t *testing.T, main, shop *fakes, mainTokens ...string) *Server {
	t.Helper()
	s, err := New(Config{Listen: "127.0.0.1:0", Tokens: mainTokens, BaseURL: "http://127.0.0.1:1"}, main.deps(),
		Namespace{Name: "shop", Tokens: []string{"shop-new", "shop-old"}, Deps: shop.deps()})
	require.NoError(t, err)
	t.Cleanup(s.close)
	return s
}

func bearer(token string) map[string]string {
	return map[string]string{"Authorization": "Bearer " + token}
}

// BR-25: only the token decides whose data a call uses. The fakes fail the test if the other namespace's store is
// called.
func TestTheTokenChoosesTheNamespace(t *testing.T) {
	t.Parallel()
	main, shop := newFakes(t), newFakes(t)
	s := withNamespace(t, main, shop, "main")
	for token, owner := range map[string]*fakes{"main": main, "shop-new": shop, "shop-old": shop} {
		asked := 0
		owner.store.getRun = func(context.Context, string, bool) (world.Run, error) {
			asked++
			return world.Run{}, world.Errorf(world.CodeRunNotFound, "Run not found")
		}
		w := call{method: http.MethodGet, target: "/v1/runs/" + runID, header: bearer(token)}.do(t, s)
		require.Equal(t, http.StatusNotFound, w.Code)
		require.Equal(t, "run_not_found", errorOf(t, w.Body.String())["code"])
		require.Equal(t, 1, asked, token)
		owner.store.getRun = nil
	}
	var enqueued []string
	shop.queue.enqueue = func(m world.Message) (string, error) {
		enqueued = append(enqueued, m.QueueName)
		return "msg_1", nil
	}
	w := call{method: http.MethodPost, target: "/v1/queue", body: `{"queueName":"__wkf_workflow_w","message":{}}`, header: bearer("shop-new")}.do(t, s)
	require.Equal(t, http.StatusOK, w.Code, w.Body.String())
	require.Equal(t, []string{"__wkf_workflow_w"}, enqueued)
	for _, stranger := range []string{"", "shop", "shop-new,shop-old", "mainshop-new"} {
		w := call{method: http.MethodGet, target: "/v1/apps", header: bearer(stranger)}.do(t, s)
		require.Equal(t, http.StatusUnauthorized, w.Code, stranger)
	}
}

// If only namespaces have tokens, a call without one is refused: it does not go to the default namespace.
func TestWithNamespacesEveryCallNeedsAToken(t *testing.T) {
	t.Parallel()
	s := withNamespace(t, newFakes(t), newFakes(t))
	for _, r := range s.routes {
		if !r.open {
			require.Equal(t, http.StatusUnauthorized, call{method: r.method, target: r.path, body: "{}"}.do(t, s).Code, r.path)
		}
	}
}

// Two namespaces may have the same hook token: the path says whose webhook is called. An app of the default namespace
// never gets one of another.
func TestWebhooksOfANamespace(t *testing.T) {
	t.Parallel()
	base, got := webhookApp(t)
	shop := webhookFakes(t, world.App{BaseURL: base, DeploymentID: "dpl_2"})
	main := webhookFakes(t)
	main.store.getHookByToken = func(token string, _ bool) (world.Hook, error) { return world.Hook{}, world.HookNotFound(token) }
	s := withNamespace(t, main, shop, "main")
	w := call{method: http.MethodPost, target: "/ns/shop" + wildPath + "?q=1", body: strings.NewReader("payload"), header: bearer("shop-old")}.do(t, s)
	require.Equal(t, http.StatusFound, w.Code)
	r := <-got
	require.Equal(t, wildPath+"?q=1", r.uri)
	require.Equal(t, "payload", r.body)
	require.Empty(t, r.header.Get("Authorization"), "no token of the service is shown to an app")
	for _, other := range []string{wildPath, "/ns/blog" + wildPath, "/ns/" + wildPath, "/ns/shop/.well-known/workflow/v1/webhook/other"} {
		require.Equal(t, http.StatusNotFound, call{method: http.MethodPost, target: other}.do(t, s).Code, other)
	}
	shop.apps.list = func() ([]world.App, error) { return nil, nil }
	w = call{method: http.MethodPost, target: "/ns/shop" + wildPath}.do(t, s)
	require.Equal(t, http.StatusServiceUnavailable, w.Code, "the service's own WORKFLOW_BASE_URL is the default namespace's")
}

func TestNamespacesThatCannotBe(t *testing.T) {
	t.Parallel()
	deps := newFakes(t).deps()
	ns := func(name string, tokens ...string) Namespace {
		return Namespace{Name: name, Tokens: tokens, Deps: deps}
	}
	for want, namespaces := range map[string][]Namespace{
		`a namespace is called ""`:         {ns("", "t")},
		`a namespace is called "Shop"`:     {ns("Shop", "t")},
		`a namespace is called "a_b"`:      {ns("a_b", "t")},
		`two namespaces called "a"`:        {ns("a", "t"), ns("a", "u")},
		`"a" has no token`:                 {ns("a")},
		"have the same token":              {ns("a", "t"), ns("b", "u", "t")},
		"is empty":                         {ns("a", "")},
		`namespace "a": httpapi needs a S`: {{Name: "a", Tokens: []string{"t"}}},
	} {
		_, err := New(Config{Listen: "127.0.0.1:0", Tokens: []string{"main"}}, deps, namespaces...)
		require.ErrorContains(t, err, want)
	}
	_, err := New(Config{Listen: "127.0.0.1:0", Tokens: []string{"main"}}, deps, ns("a", "main"))
	require.ErrorContains(t, err, "have the same token")
	_, err = New(Config{Listen: "0.0.0.0:0"}, deps, ns("a", "a token of the namespace"))
	require.NoError(t, err, "every call needs a token, so others may reach the address")
}
