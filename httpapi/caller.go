package httpapi

import (
	"context"
	"net"
	"net/netip"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/httpapi/internal/callerconn"
)

// withCaller adds to the context of a connection's requests the connection and the address it comes from.
func withCaller(ctx context.Context, c net.Conn) context.Context {
	ctx = callerconn.WithConn(ctx, c)
	if from, err := netip.ParseAddrPort(c.RemoteAddr().String()); err == nil {
		ctx = world.WithCaller(ctx, from.Addr())
	}
	return ctx
}
