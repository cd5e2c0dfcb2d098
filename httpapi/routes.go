package httpapi

import (
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/world-redis/world-redis"
)

// route is one line of the API. Paths are written as in the OpenAPI document.
type route struct {
	method, path string
	open         bool // needs no token
	anyHost      bool // is served whatever the Host, also without a token: others call it by the name of a tunnel
	handle       echo.HandlerFunc
}

// acknowledged reports whether the caller may rely on what the answer says was written. An app registers again and again.
func (r route) acknowledged() bool {
	return r.method == http.MethodPost && !strings.HasPrefix(r.path, "/v1/apps") || r.path == routeCalls
}

// webhookMethods are passed on to the app; a webhook may be called with any of them.
var webhookMethods = []string{
	http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut,
	http.MethodPatch, http.MethodDelete, http.MethodOptions,
}

// routes is every route there is; a test compares it with the OpenAPI document.
func (s *Server) routes() []route {
	const (
		get  = http.MethodGet
		post = http.MethodPost
		wk   = "/.well-known/workflow/v1"
	)
	table := []route{
		{method: post, path: "/v1/events", handle: s.createRunEvent},
		{method: get, path: "/v1/events", handle: s.listEntityEvents},
		{method: post, path: "/v1/runs/{runId}/events", handle: s.createEvent},
		{method: post, path: "/v1/runs/{runId}/events/batch", handle: s.createEvents},
		{method: get, path: "/v1/runs/{runId}/events", handle: s.listEvents},
		{method: get, path: "/v1/runs/{runId}/events/{eventId}", handle: s.getEvent},

		{method: post, path: routeCalls, handle: s.bundle},
		{method: get, path: routeCalls, handle: s.callSocket},

		{method: get, path: "/v1/runs", handle: s.listRuns},
		{method: post, path: "/v1/runs/get", handle: s.getRuns},
		{method: post, path: "/v1/runs/cancel", handle: s.cancelRuns},
		{method: get, path: "/v1/runs/lost", handle: s.lostCalls},
		{method: get, path: "/v1/runs/{runId}", handle: s.getRun},
		{method: get, path: "/v1/runs/{runId}/wait", handle: s.awaitRun},
		{method: post, path: "/v1/runs/{runId}/wake", handle: s.wakeRun},
		{method: post, path: "/v1/runs/{runId}/attributes", handle: s.setAttributes},
		{method: get, path: "/v1/runs/{runId}/steps", handle: s.listSteps},
		{method: get, path: "/v1/runs/{runId}/steps/{stepId}", handle: s.getStep},
		{method: get, path: "/v1/steps/{stepId}", handle: s.getStep},

		{method: get, path: "/v1/hooks", handle: s.listHooks},
		{method: get, path: "/v1/hooks/by-token", handle: s.getHookByToken},
		{method: get, path: "/v1/hooks/{hookId}", handle: s.getHook},

		{method: post, path: "/v1/queue", handle: s.enqueue},
		{method: get, path: "/v1/queue", handle: s.withAdmin(s.queueDepths)},
		{method: get, path: "/v1/queue/messages", handle: s.withAdmin(s.listMessages)},
		{method: get, path: "/v1/queue/messages/{messageId}", handle: s.withAdmin(s.getMessage)},
		{method: post, path: "/v1/queue/messages/{messageId}/drop", handle: s.withAdmin(s.dropMessage)},
		{method: post, path: "/v1/queue/redrive", handle: s.withAdmin(s.redrive)},
		{method: post, path: "/v1/queue/{queue}/pause", handle: s.withAdmin(s.pauseQueue)},
		{method: post, path: "/v1/queue/{queue}/resume", handle: s.withAdmin(s.resumeQueue)},
		{method: get, path: "/v1/runs/{runId}/messages", handle: s.withAdmin(s.runMessages)},
		{method: post, path: "/v1/apps", handle: s.registerApp},
		{method: get, path: "/v1/apps", handle: s.listApps},
		{method: post, path: "/v1/apps/unregister", handle: s.unregisterApp},

		{method: get, path: "/v1/runs/{runId}/streams", handle: s.listStreams},
		{method: post, path: "/v1/runs/{runId}/streams/{name}", handle: s.appendChunks},
		{method: get, path: "/v1/runs/{runId}/streams/{name}", handle: s.readStream},
		{method: post, path: "/v1/runs/{runId}/streams/{name}/close", handle: s.closeStream},
		{method: get, path: "/v1/streams/{name}", handle: s.readStream},
		{method: get, path: "/v1/streams/{name}/chunks", handle: s.listChunks},
		{method: get, path: "/v1/streams/{name}/info", handle: s.streamInfo},

		{method: post, path: "/v1/legacy/runs", handle: s.createLegacyRun},
		{method: post, path: "/v1/legacy/runs/{runId}", handle: s.updateLegacyRun},
		{method: post, path: "/v1/legacy/runs/{runId}/cancel", handle: s.moveLegacyRun(world.RunCancelled, false)},
		{method: post, path: "/v1/legacy/runs/{runId}/pause", handle: s.moveLegacyRun(world.RunPaused, false)},
		{method: post, path: "/v1/legacy/runs/{runId}/resume", handle: s.moveLegacyRun(world.RunRunning, true)},
		{method: post, path: "/v1/legacy/runs/{runId}/steps", handle: s.createLegacyStep},
		{method: post, path: "/v1/legacy/runs/{runId}/steps/{stepId}", handle: s.updateLegacyStep},
		{method: post, path: "/v1/legacy/runs/{runId}/events", handle: s.createLegacyEvent},
		{method: post, path: "/v1/legacy/runs/{runId}/hooks", handle: s.createLegacyHook},
		{method: post, path: "/v1/legacy/hooks/{hookId}/dispose", handle: s.disposeLegacyHook},

		{method: post, path: wk + "/flow", handle: s.enqueueFlow},
		{method: post, path: wk + "/step", handle: s.enqueueStep},

		{method: get, path: "/healthz", open: true, handle: s.healthz},
		{method: get, path: "/readyz", open: true, handle: s.readyz},
		{method: get, path: "/metrics", open: true, handle: s.metrics},
		{method: get, path: "/openapi.json", open: true, handle: s.serveOpenAPI},
	}
	for _, method := range webhookMethods {
		table = append(table,
			route{method: method, path: wk + "/webhook/{token}", open: true, anyHost: true, handle: s.webhook},
			route{method: method, path: "/ns/{namespace}" + wk + "/webhook/{token}", open: true, anyHost: true, handle: s.namespaceWebhook})
	}
	return table
}

// newEcho builds the router from the table. A call with a token goes to the same line of
// the table of its namespace.
func (s *Server) newEcho() *echo.Echo {
	e := echo.New()
	e.HTTPErrorHandler = s.handleError
	e.Pre(routeByEscapedPath)
	e.Use(waitForNoBody, s.observe, s.admit, s.identify, limitHops)
	asColons := strings.NewReplacer("{", ":", "}", "")
	for i, r := range s.table {
		handle := r.handle
		if !r.open {
			acknowledged := r.acknowledged()
			handle = func(c echo.Context) error {
				part, err := s.callerOf(c)
				if err != nil {
					return err
				}
				if request := c.Request(); acknowledged && part.deps.Acknowledged != nil {
					c.SetRequest(request.WithContext(part.deps.Acknowledged(request.Context())))
				}
				return part.withHolding(c, part.table[i].handle)
			}
		}
		if admitted := handle; !r.anyHost {
			handle = func(c echo.Context) error {
				if err := s.checkHost(c.Request()); err != nil {
					return err
				}
				return admitted(c)
			}
		}
		e.Add(r.method, asColons.Replace(r.path), handle)
	}
	return e
}
