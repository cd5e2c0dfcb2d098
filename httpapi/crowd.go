package httpapi

import (
	"log/slog"
	"net"
	"sync/atomic"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/world-redis/world-redis"
)

// extraConns is how many connections are taken beyond the limit. Each is for one request: health checks and metrics are
// answered, so that a service with too many callers does not look dead, and calls learn that they can be made again.
const extraConns = 64

// crowd counts the open connections of callers. golang.org/x/net/netutil has a listener that waits at its limit: then
// new callers would get no answer for as long as others stay.
type crowd struct {
	most int64
	log  *slog.Logger
	open atomic.Int64
	said time.Time // of the last line in the log; Accept is not called twice at a time
}

// newCrowd returns nil where any number of callers may be connected.
func newCrowd(cfg Config) *crowd {
	if cfg.MaxConnections == 0 {
		return nil
	}
	return &crowd{most: int64(cfg.MaxConnections), log: cfg.Logger}
}

// accept takes the next connection. extra is true for one beyond the limit.
func (k *crowd) accept(from net.Listener) (c net.Conn, extra bool, err error) {
	for {
		c, err = from.Accept()
		if err != nil || k == nil {
			return c, false, err
		}
		n := k.open.Add(1)
		if n <= k.most {
			return c, false, nil
		}
		if time.Since(k.said) > time.Minute {
			k.said = time.Now()
			k.log.Warn("too many connections: calls on further ones are answered 503; find the caller that keeps them open, or raise WORKFLOW_WORLD_MAX_CONNECTIONS and the limit of open files",
				slog.Int64("limit", k.most))
		}
		if n <= k.most+extraConns {
			return c, true, nil
		}
		k.open.Add(-1)
		_ = c.Close()
	}
}

// Close implements net.Conn.
func (c *wholeConn) Close() error {
	if c.crowd != nil && !c.left.Swap(true) {
		c.crowd.open.Add(-1)
	}
	return c.closeWriter.Close()
}

// admit refuses calls on connections beyond the limit, and ends these.
func admit(c echo.Context) error {
	conn, ok := c.Request().Context().Value(connKey{}).(*wholeConn)
	if !ok || !conn.extra {
		return nil
	}
	c.Response().Header().Set(echo.HeaderConnection, "close")
	switch c.Path() {
	case "/healthz", "/readyz", "/metrics":
		return nil
	}
	return world.Errorf(world.CodeUnavailable, "the service has as many connections as it may (WORKFLOW_WORLD_MAX_CONNECTIONS); try again")
}
