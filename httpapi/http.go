package httpapi

import (
	"context"
	"net/http"
	"slices"

	"github.com/labstack/echo/v4"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/httpapi/internal/callerconn"
	"github.com/world-redis/world-redis/httpapi/internal/httpbody"
	"github.com/world-redis/world-redis/httpapi/internal/input"
	"github.com/world-redis/world-redis/httpapi/internal/operations"
	"github.com/world-redis/world-redis/httpapi/internal/transport"
)

const contextRequestID = "requestID"

// newEcho builds the router.
func (s *Server) newEcho() *echo.Echo {
	e := echo.New()
	e.HTTPErrorHandler = s.handleError
	e.Pre(routeByEscapedPath)
	e.Use(httpbody.CloseUnread, s.serveHTTP, limitHops)
	for i := range s.routes {
		o := &s.routes[i]
		e.Add(o.method, operations.RouteOf(o.path), s.handlerOf(o))
	}
	return e
}

// routeByEscapedPath makes the router use the path as it was sent. Otherwise Go keeps
// the escaped form only of some paths, and parameters could not be decoded exactly once.
func routeByEscapedPath(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		u := c.Request().URL
		u.RawPath = u.EscapedPath()
		return next(c)
	}
}

// serveHTTP serves every request, also those without a route.
func (s *Server) serveHTTP(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		c.Response().Header().Set("X-Content-Type-Options", "nosniff")
		s.Serve(c.Request().Context(), &httpCall{c, next})
		return nil
	}
}

// handlerOf returns the handler of a route: it authenticates the caller, counts the memory of the request,
// and marks writes that replicas must confirm. The calls of a bundle or call socket use what their request has.
func (s *Server) handlerOf(o *route) echo.HandlerFunc {
	acknowledged := o.acknowledged()
	return func(c echo.Context) error {
		if !o.anyHost {
			if err := s.checkHost(c.Request()); err != nil {
				return err
			}
		}
		switch {
		case o.own != nil:
			return o.own(s, c)
		case o.open:
			return o.overHTTP(s.main, c)
		}
		ns, err := s.callerOf(c)
		if err != nil {
			return err
		}
		r := c.Request()
		ctx := r.Context()
		if acknowledged && ns.ops.Deps.Acknowledged != nil {
			ctx = ns.ops.Deps.Acknowledged(ctx)
		}
		h := ns.memory.Hold()
		defer h.Release()
		c.SetRequest(r.WithContext(world.WithRoom(ctx, h)))
		return o.overHTTP(ns, c)
	}
}

// httpCall is an HTTP request as a [transport.Call].
type httpCall struct {
	c    echo.Context
	next echo.HandlerFunc
}

func (h *httpCall) Admit() error { return admit(h.c) }

func (h *httpCall) Key() string {
	if r := h.c.Request(); r.Method == http.MethodPost {
		return r.Header.Get(transport.HeaderIdempotencyKey)
	}
	return ""
}

func (h *httpCall) Identified(id string)                { h.c.Set(contextRequestID, id) }
func (h *httpCall) Make(context.Context) error          { return h.next(h.c) }
func (h *httpCall) Refuse(_ context.Context, err error) { h.c.Error(err) }
func (h *httpCall) Begun() bool                         { return h.c.Response().Committed }
func (h *httpCall) Origin() transport.Origin            { return originOf(h.c) }

func (h *httpCall) Answered() (status int, bytes int64) {
	return h.c.Response().Status, h.c.Response().Size
}

// admit refuses calls on connections beyond the limit, and closes these after the answer.
func admit(c echo.Context) error {
	if !callerconn.IsExtra(c.Request().Context()) {
		return nil
	}
	c.Response().Header().Set(echo.HeaderConnection, "close")
	switch c.Path() {
	case "/healthz", "/readyz", "/metrics":
		return nil
	}
	return world.Errorf(world.CodeUnavailable, "the service has too many connections (WORKFLOW_WORLD_MAX_CONNECTIONS); try again")
}

func originOf(c echo.Context) transport.Origin {
	return transport.Origin{Method: c.Request().Method, Route: c.Path(), Request: requestID(c)}
}

func requestID(c echo.Context) string {
	id, _ := c.Get(contextRequestID).(string)
	return id
}

// requestOf returns an HTTP request as operations read it. The body is read when the operation needs it.
func (s *shared) requestOf(c echo.Context) *input.Request {
	h := &httpSource{shared: s, c: c}
	h.request = input.Request{ID: requestID(c), From: h}
	return &h.request
}

// httpSource is an HTTP request as an [input.Source].
type httpSource struct {
	request input.Request
	shared  *shared
	c       echo.Context
}

func (h *httpSource) Param(name string) (text string, ok bool) {
	return h.c.Param(name), slices.Contains(h.c.ParamNames(), name)
}

func (h *httpSource) RawQuery() string         { return h.c.Request().URL.RawQuery }
func (h *httpSource) Header() http.Header      { return h.c.Request().Header }
func (h *httpSource) Item() (world.Raw, error) { return h.shared.ReadItem(h.c) }
func (h *httpSource) Missing() bool            { return h.c.Request().ContentLength == 0 }

// limitHops refuses a request that has come through too many services: they take each other for apps and forward it in a loop.
func limitHops(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if hops := input.HopsOf(c.Request().Header); hops > world.MaxHops {
			return world.Errorf(world.CodeLoopDetected,
				"this request came through more than %d world-redis services: one of them has another one as its app; correct its WORKFLOW_BASE_URL, or what registers there", world.MaxHops)
		}
		return next(c)
	}
}
