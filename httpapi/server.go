// Package httpapi is the HTTP side of the service: the /v1 API in CBOR and JSON, the
// /.well-known/workflow/v1 routes, health, and the OpenAPI document (docs/protocol.md).
//
// It knows the interfaces of package world and nothing behind them. An operation decodes a
// request, has one thing done and encodes the answer; payloads pass through as the bytes
// they came as. A [Server] listens, routes and authenticates; an api serves the requests of one namespace.
// The way of a call: its transport (http.go, or internal/bundle) → internal/transport, which all calls go through → its
// operation in the table (internal/operations/table.go) → the resource's file. A refusal gets its form in internal/refuse.
package httpapi

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/world-redis/world-redis/httpapi/internal/callerconn"
	"github.com/world-redis/world-redis/httpapi/internal/operations"
	"github.com/world-redis/world-redis/internal/budget"
)

// Limits that have no setting.
const (
	readHeaderTimeout = 10 * time.Second
	maxHeader         = 64 << 10 // bytes of the request line and the headers; a token in a path has 12 KiB at most
	idleTimeout       = 2 * time.Minute
	keepAliveInterval = 15 * time.Second // of silence in a framed stream
	readyTimeout      = 2 * time.Second
)

// Server is the outer part of the API: it listens, routes, authenticates, and hands a request to the api of its namespace. Make one
// with [New].
type Server struct {
	*shared

	cfg         Config
	routes      []route
	echo        *echo.Echo
	auth        *authenticator
	proxy       *webhookProxy
	main        *api              // of the default namespace
	namespaces  map[string]*api   // the others, by name
	connections *callerconn.Limit // nil: there may be any number of them
	// answerPatience is how long a caller may take nothing of its answer.
	answerPatience time.Duration
	scrapes        scrapes // who may read the metrics, and where

	drainOnce sync.Once
	listening chan struct{}
	addr      string // written before listening is closed
}

// New checks the configuration and builds the routes. A listen address that others can
// reach is refused when there is no token. deps are those of the default namespace, whose
// tokens stand in cfg; when only others have tokens, nobody calls that one.
func New(cfg Config, deps Deps, namespaces ...Namespace) (*Server, error) {
	tokens := cfg.Tokens
	for _, n := range namespaces {
		tokens = slices.Concat(tokens, n.Tokens)
	}
	if err := cfg.check(tokens); err != nil {
		return nil, err
	}
	if err := deps.Check(); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	scrapes, err := newScrapes(cfg)
	if err != nil {
		return nil, err
	}
	shared, err := newShared(cfg)
	if err != nil {
		return nil, err
	}
	memory := shareMemory(cfg.Memory, len(namespaces))
	auth := newAuthenticator()
	proxy := newWebhookProxy(shared, auth, cfg)
	main := newAPI(shared, proxy, deps, cfg.BaseURL, memory())
	if err := auth.add(cfg.Tokens, main); err != nil {
		return nil, err
	}
	others := make(map[string]*api, len(namespaces))
	for _, n := range namespaces {
		if err := n.check(others); err != nil {
			return nil, err
		}
		others[n.Name] = newAPI(shared, proxy, n.Deps, "", memory()) // the configured address is an app of the default namespace
		if err := auth.add(n.Tokens, others[n.Name]); err != nil {
			return nil, err
		}
	}
	s := &Server{
		shared: shared, cfg: cfg, routes: routesOf(operations.Table()), auth: auth, proxy: proxy, main: main, namespaces: others, connections: callerconn.NewLimit(cfg.MaxConnections, cfg.Logger),
		answerPatience: callerconn.AnswerPatience, scrapes: scrapes, listening: make(chan struct{}),
	}
	s.echo = s.newEcho()
	return s, nil
}

// shareMemory returns a function that gives each namespace its part of the memory of the process: half of it, or all of it where there
// is one namespace only.
func shareMemory(bytes int64, others int) func() *budget.Pool {
	process := budget.New(bytes)
	if others > 0 {
		bytes /= 2
	}
	return func() *budget.Pool { return process.Part(bytes) }
}

// Handler returns the routes without a listener.
func (s *Server) Handler() http.Handler { return s.echo }

// Listening is closed once the address is bound.
func (s *Server) Listening() <-chan struct{} { return s.listening }

// Addr returns the bound address, "" before [Server.Listening] is closed.
func (s *Server) Addr() string {
	select {
	case <-s.listening:
		return s.addr
	default:
		return ""
	}
}

// Drain makes /readyz fail and cuts live stream reads, so that their readers go on
// elsewhere. Run calls it when its context ends; calling it again does nothing.
func (s *Server) Drain() { s.drainOnce.Do(func() { close(s.Draining) }) }

// Run listens and serves until ctx is done, then drains: live stream reads are cut
// without their end frame, other requests and call sockets get DrainGrace, and what is left after that is
// cut too. It returns nil after a stop that was asked for. A Server runs once.
func (s *Server) Run(ctx context.Context) error {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", s.cfg.Listen)
	if err != nil {
		return fmt.Errorf("cannot listen on %s: %w", s.cfg.Listen, err)
	}
	stopMetrics, err := s.startMetrics(ctx)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	defer stopMetrics()
	s.addr = listener.Addr().String()
	close(s.listening)

	// Requests in flight must outlive ctx by the grace, so theirs is a context of its own.
	work, stopWork := context.WithCancel(context.WithoutCancel(ctx))
	defer stopWork()
	server := s.serverOf(work)
	served := make(chan error, 1)
	go func() {
		served <- server.Serve(callerconn.Listener{Listener: listener, Wrap: s.cfg.Conns, Patience: s.answerPatience, Limit: s.connections})
	}()

	select {
	case err := <-served:
		s.Drain()
		return fmt.Errorf("serving on %s: %w", s.addr, err)
	case <-ctx.Done():
	}
	s.Drain()
	grace, cancel := context.WithTimeout(work, s.cfg.DrainGrace)
	defer cancel()
	if err := errors.Join(server.Shutdown(grace), s.sockets.Wait(grace)); err != nil {
		s.Log.Warn("requests were cut at shutdown", slog.Duration("grace", s.cfg.DrainGrace))
		stopWork()
		if err := server.Close(); err != nil {
			s.Log.Warn("closing the listener", slog.String("error", err.Error()))
		}
	}
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		s.Log.Warn("the listener ended badly", slog.String("error", err.Error()))
	}
	s.close()
	return nil
}

// close ends what waits between calls.
func (s *Server) close() {
	s.proxy.close()
	s.workers.Close()
}

// serverOf is a server for connections; the requests' contexts come from work. It has no limit for
// a whole answer or body: live reads last as long as their streams.
func (s *Server) serverOf(work context.Context) *http.Server {
	return &http.Server{
		Handler:           s.Handler(),
		ReadHeaderTimeout: readHeaderTimeout,
		MaxHeaderBytes:    maxHeader,
		IdleTimeout:       idleTimeout,
		BaseContext:       func(net.Listener) context.Context { return work },
		ConnContext:       callerconn.WithConn,
		ErrorLog:          slog.NewLogLogger(s.Log.Handler(), slog.LevelDebug),
	}
}
