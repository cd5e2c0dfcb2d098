// Package httpapi is the HTTP side of the service: the /v1 API in CBOR and JSON, the
// /.well-known/workflow/v1 routes, health, and the OpenAPI document (docs/protocol.md).
//
// It only knows the interfaces of package world. An operation decodes a
// request, calls an interface and encodes the answer; payloads pass through unchanged.
// A [Server] listens, routes and authenticates; an api serves the requests of one namespace.
// A call goes from its transport (http.go, or internal/bundle) through internal/transport to its
// operation in the table (internal/operations/table.go), which is in the file of its resource. internal/refuse has the form of errors.
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

// Limits without a setting.
const (
	readHeaderTimeout = 10 * time.Second
	maxHeader         = 64 << 10 // bytes of the request line and the headers; a token in a path has 12 KiB at most
	idleTimeout       = 2 * time.Minute
	keepAliveInterval = 15 * time.Second // of silence in a framed stream
	readyTimeout      = 2 * time.Second
)

// Server listens, routes, authenticates, and passes each request to the api of its namespace. Make one
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
	connections *callerconn.Limit // nil: no limit
	// answerPatience is how long a caller may read nothing of its answer.
	answerPatience time.Duration
	scrapes        scrapes // who may read the metrics, and where

	drainOnce sync.Once
	listening chan struct{}
	addr      string // written before listening is closed
}

// New checks the configuration and builds the routes. A listen address that others can
// reach is refused if there is no token. deps are those of the default namespace, whose
// tokens are in cfg. If only other namespaces have tokens, nobody can call the default one.
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
		others[n.Name] = newAPI(shared, proxy, n.Deps, "", memory()) // BaseURL is an app of the default namespace
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

// shareMemory returns a function that makes the memory of a namespace. Each may use half of the memory of the process, or all of it if
// it is the only one.
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

// Drain makes /readyz fail and cuts live stream reads, so that their readers continue
// at another replica. Run calls it when its context ends. Further calls do nothing.
func (s *Server) Drain() { s.drainOnce.Do(func() { close(s.Draining) }) }

// Run listens and serves until ctx is done, then drains: it cuts live stream reads
// without their end frame, and gives other requests and call sockets DrainGrace before it cuts them,
// too. It returns nil if it was stopped by ctx. A Server runs once.
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

	// Running requests must outlive ctx by the grace, so they have another context.
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
			s.Log.Warn("the listener could not be closed", slog.String("error", err.Error()))
		}
	}
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		s.Log.Warn("the listener failed", slog.String("error", err.Error()))
	}
	s.close()
	return nil
}

// close ends idle connections and goroutines.
func (s *Server) close() {
	s.proxy.close()
	s.workers.Close()
}

// serverOf returns the HTTP server; the contexts of requests derive from work. It has no time limit for
// a whole answer or body, because live reads last as long as their streams.
func (s *Server) serverOf(work context.Context) *http.Server {
	return &http.Server{
		Handler:           s.Handler(),
		ReadHeaderTimeout: readHeaderTimeout,
		MaxHeaderBytes:    maxHeader,
		IdleTimeout:       idleTimeout,
		BaseContext:       func(net.Listener) context.Context { return work },
		ConnContext:       withCaller,
		ErrorLog:          slog.NewLogLogger(s.Log.Handler(), slog.LevelDebug),
	}
}
