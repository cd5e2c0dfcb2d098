package callerconn

import (
	"context"
	"log/slog"
	"net"
	"sync/atomic"
	"time"
)

// ExtraConns is how many connections are accepted beyond the limit. Each serves one request: health checks and metrics are
// answered, so that a service with too many callers does not look dead, and calls get an error that lets them try again.
const ExtraConns = 64

// Limit counts the open connections of callers. The listener of golang.org/x/net/netutil waits at its limit, so
// new callers would get no answer while others stay connected.
type Limit struct {
	most int64
	log  *slog.Logger
	open atomic.Int64
	said time.Time // time of the last log line; Accept is not called concurrently
}

// NewLimit returns a limit of most connections, nil if most is 0: then there is no limit.
func NewLimit(most int, log *slog.Logger) *Limit {
	if most == 0 {
		return nil
	}
	return &Limit{most: int64(most), log: log}
}

// Connected returns how many callers are connected.
func (k *Limit) Connected() int64 { return k.open.Load() }

// accept accepts the next connection. extra is true if it is beyond the limit.
func (k *Limit) accept(from net.Listener) (c net.Conn, extra bool, err error) {
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
			k.log.Warn("too many connections: calls on new ones are answered 503; find the caller that keeps them open, or raise WORKFLOW_WORLD_MAX_CONNECTIONS and the limit of open files",
				slog.Int64("limit", k.most))
		}
		if n <= k.most+ExtraConns {
			return c, true, nil
		}
		k.open.Add(-1)
		_ = c.Close()
	}
}

// Close implements net.Conn.
func (c *wholeConn) Close() error {
	if c.limit != nil && !c.left.Swap(true) {
		c.limit.open.Add(-1)
	}
	return c.closeWriter.Close()
}

// IsExtra reports whether a request came over a connection beyond the limit.
func IsExtra(ctx context.Context) bool {
	conn, ok := ctx.Value(connKey{}).(*wholeConn)
	return ok && conn.extra
}
