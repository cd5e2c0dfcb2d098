package world

import (
	"context"
	"net/netip"
)

type callerKey struct{}

// WithCaller returns a context that says from which IP address a call came: that of the connection. Headers such as
// X-Forwarded-For are not used, since every caller can set them.
func WithCaller(ctx context.Context, from netip.Addr) context.Context {
	return context.WithValue(ctx, callerKey{}, from.Unmap().WithZone(""))
}

// CallerOf returns the IP address that a call came from; it is not valid if that is unknown.
func CallerOf(ctx context.Context) netip.Addr {
	from, _ := ctx.Value(callerKey{}).(netip.Addr)
	return from
}
