package httpapi

import (
	"log/slog"
	"time"

	"github.com/world-redis/world-redis/httpapi/internal/httpbody"
	"github.com/world-redis/world-redis/httpapi/internal/memory"
	"github.com/world-redis/world-redis/internal/budget"
)

// api makes the calls of one namespace, which the [Server] has authenticated.
type api struct {
	*shared

	deps    Deps
	baseURL string        // the app to pass webhooks to when none is registered; empty: none
	memory  *memory.Share // what the calls of this namespace hold
	proxy   *webhookProxy
}

func newAPI(s *shared, proxy *webhookProxy, deps Deps, baseURL string, pool *budget.Pool) *api {
	return &api{shared: s, deps: deps, baseURL: baseURL, memory: memory.New(pool), proxy: proxy}
}

// shared is what the calls of all namespaces are made with.
type shared struct {
	*httpbody.Codec

	log          *slog.Logger
	observe      func(method, route string, status int, took time.Duration)
	newRequestID func() string
	bundled      []*operation // those that may be part of a bundle
	// noBundles and noCallSockets are those of Config.
	noBundles, noCallSockets bool

	crew     *crew
	sockets  *callSockets
	draining chan struct{} // closed when the service begins to stop

	keepAlive time.Duration
	// retireGrace is how long the client of a call socket may take to hang up.
	retireGrace time.Duration
}

func newShared(cfg Config, table []operation) (*shared, error) {
	bodies, err := httpbody.New(cfg.MaxBody)
	if err != nil {
		return nil, err
	}
	return &shared{
		log: cfg.Logger, Codec: bodies, observe: cfg.Observe, newRequestID: cfg.NewRequestID,
		bundled: bundledOf(table), noBundles: cfg.NoBundles, noCallSockets: cfg.NoCallSockets, crew: &crew{}, sockets: new(callSockets), draining: make(chan struct{}),
		keepAlive: keepAliveInterval, retireGrace: retireGrace,
	}, nil
}

func (s *shared) isDraining() bool {
	select {
	case <-s.draining:
		return true
	default:
		return false
	}
}
