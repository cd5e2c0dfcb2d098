package httpapi

import (
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/httpapi/internal/callsocket"
	"github.com/world-redis/world-redis/httpapi/internal/memory"
	"github.com/world-redis/world-redis/httpapi/internal/refuse"
)

// bundle serves POST /v1/calls: a bundle in an HTTP request.
func (a *api) bundle(c echo.Context) error {
	if a.noBundles {
		return world.Errorf(world.CodeNotFound, "this service takes no bundles of calls")
	}
	ctx := c.Request().Context()
	memory.Of(ctx).Bundle()
	body, err := a.ReadItem(c)
	if err != nil {
		return err
	}
	e, err := a.bundles.Serve(ctx, body)
	if err != nil {
		return err
	}
	defer e.Release()
	return a.Answer(c, http.StatusOK, e.Bytes)
}

// callSocket serves GET /v1/calls: a WebSocket whose messages are bundles.
func (a *api) callSocket(c echo.Context) error {
	if a.noBundles || a.noCallSockets {
		return world.Errorf(world.CodeNotFound, "this service takes no call sockets")
	}
	if !asksForWebSocket(c.Request()) {
		return refuse.Invalid("GET /v1/calls is for WebSockets with the subprotocol %s; a single bundle is a POST", callsocket.Protocol)
	}
	return a.sockets.Serve(c.Response(), c.Request(), a.bundles, a.memory)
}

func asksForWebSocket(r *http.Request) bool {
	return strings.EqualFold(r.Header.Get("Upgrade"), "websocket")
}
