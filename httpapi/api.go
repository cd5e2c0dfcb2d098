package httpapi

import (
	"time"

	"github.com/world-redis/world-redis/httpapi/internal/bundle"
	"github.com/world-redis/world-redis/httpapi/internal/callsocket"
	"github.com/world-redis/world-redis/httpapi/internal/httpbody"
	"github.com/world-redis/world-redis/httpapi/internal/memory"
	"github.com/world-redis/world-redis/httpapi/internal/operations"
	"github.com/world-redis/world-redis/httpapi/internal/transport"
	"github.com/world-redis/world-redis/httpapi/internal/workers"
	"github.com/world-redis/world-redis/internal/budget"
)

// api serves the requests of one namespace, which the [Server] has authenticated.
type api struct {
	*shared

	ops     *operations.API
	bundles *bundle.Server
	baseURL string        // the app that gets webhooks if none is registered; empty: none
	memory  *memory.Share // what the calls of this namespace hold
	proxy   *webhookProxy
}

func newAPI(s *shared, proxy *webhookProxy, deps Deps, baseURL string, pool *budget.Pool) *api {
	ops := &operations.API{Deps: deps, Draining: s.Draining}
	return &api{shared: s, ops: ops, bundles: bundle.New(s.Calls, s.Codec, ops, s.workers), baseURL: baseURL, memory: memory.New(pool), proxy: proxy}
}

// shared is what the requests of all namespaces share.
type shared struct {
	*transport.Calls
	*httpbody.Codec

	// noBundles and noCallSockets are those of Config.
	noBundles, noCallSockets bool

	workers *workers.Pool
	sockets *callsocket.Server

	keepAlive time.Duration
}

func newShared(cfg Config) (*shared, error) {
	bodies, err := httpbody.New(cfg.MaxBody)
	if err != nil {
		return nil, err
	}
	calls := &transport.Calls{Log: cfg.Logger, Observe: cfg.Observe, NewRequestID: cfg.NewRequestID, Draining: make(chan struct{})}
	workers := new(workers.Pool)
	return &shared{
		Calls: calls, Codec: bodies, noBundles: cfg.NoBundles, noCallSockets: cfg.NoCallSockets,
		workers: workers, sockets: callsocket.New(calls, bodies, workers), keepAlive: keepAliveInterval,
	}, nil
}
