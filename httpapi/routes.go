package httpapi

import (
	"cmp"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/world-redis/world-redis/httpapi/internal/bundle"
	"github.com/world-redis/world-redis/httpapi/internal/operations"
)

// route is one route of the router: an operation of the table, or a call that only HTTP can carry.
type route struct {
	method, path string // the path as in the OpenAPI document
	// Exactly one of these three makes its calls.
	op *operations.Operation
	// http makes a call that only HTTP can carry, such as a live read or a bundle.
	http func(a *api, c echo.Context) error
	// own makes a call of the service itself, which belongs to no namespace.
	own func(s *Server, c echo.Context) error

	open    bool // needs no token
	anyHost bool // any Host is allowed, even without a token: webhooks may come by the name of a tunnel
}

// webhookMethods are the methods with which a webhook may be called.
var webhookMethods = []string{
	http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut,
	http.MethodPatch, http.MethodDelete, http.MethodOptions,
}

// routesOf returns the routes of the operations of a table, and those of HTTP alone.
func routesOf(table []operations.Operation) []route {
	const (
		get       = http.MethodGet
		post      = http.MethodPost
		stream    = "/v1/runs/{runId}/streams/{name}"
		webhookAt = operations.WellKnown + "/webhook/{token}"
	)
	routes := []route{
		{method: post, path: bundle.Path, http: (*api).bundle},
		{method: get, path: bundle.Path, http: (*api).callSocket},

		{method: post, path: stream, http: (*api).appendChunks},
		{method: get, path: stream, http: (*api).readStream},
		{method: get, path: "/v1/streams/{name}", http: (*api).readStream},

		{method: get, path: "/", open: true, own: (*Server).root},
		{method: get, path: "/healthz", open: true, own: (*Server).healthz},
		{method: get, path: "/readyz", open: true, own: (*Server).readyz},
		{method: get, path: "/metrics", open: true, own: (*Server).metrics},
		{method: get, path: "/openapi.json", open: true, own: (*Server).serveOpenAPI},
	}
	for _, method := range webhookMethods {
		routes = append(routes,
			route{method: method, path: webhookAt, open: true, anyHost: true, http: (*api).webhook},
			route{method: method, path: "/ns/{namespace}" + webhookAt, open: true, anyHost: true, own: (*Server).namespaceWebhook})
	}
	for i := range table {
		routes = append(routes, route{method: table[i].Method, path: table[i].Path, op: &table[i]})
	}
	return routes
}

// acknowledged reports whether the caller may rely on what the answer says was written. Registrations of apps are repeated, so they
// do not count. For a bundle or call socket it holds for all calls in it.
func (r *route) acknowledged() bool {
	return r.method == http.MethodPost && !strings.HasPrefix(r.path, "/v1/apps") || r.path == bundle.Path
}

// overHTTP makes a call of the route.
func (r *route) overHTTP(a *api, c echo.Context) error {
	if r.http != nil {
		return r.http(a, c)
	}
	e, err := r.op.Serve(c.Request().Context(), a.ops, a.requestOf(c))
	if err != nil {
		return err
	}
	defer e.Release()
	return a.Answer(c, cmp.Or(r.op.Status, http.StatusOK), e.Bytes)
}
