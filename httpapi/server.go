// Package httpapi is the HTTP side of the service: the /v1 API in CBOR and JSON, the
// /.well-known/workflow/v1 routes, health, and the OpenAPI document (docs/protocol.md).
//
// It knows the interfaces of package world and nothing behind them. A handler reads the
// request, calls one method and encodes the answer; payloads pass through as the bytes
// they came as. The way of a call: its transport (http.go, or bundle.go) → serve.go, which is what all
// calls go through → its operation in the table (operations.go) → the resource's file. Every refusal ends in error.go.
package httpapi

import (
	"context"
	"crypto/rand"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/budget"
)

// Defaults of a [Config] and limits that have no setting.
const (
	DefaultMaxBody    = 64 << 20         // bytes
	DefaultDrainGrace = 10 * time.Second // for requests in flight at shutdown

	readHeaderTimeout = 10 * time.Second
	maxHeader         = 64 << 10 // bytes of the request line and the headers; a token in a path has 12 KiB at most
	idleTimeout       = 2 * time.Minute
	keepAliveInterval = 15 * time.Second // of silence in a framed stream
	readyTimeout      = 2 * time.Second
)

// Config says where and how to serve.
type Config struct {
	Listen  string   // host:port; port 0 picks a free one
	Tokens  []string // bearer tokens, any of which is good; none: no check, loopback only
	BaseURL string   // the app to pass webhooks to when none is registered; empty: none
	MaxBody int64    // bytes a request body may have; 0: DefaultMaxBody
	// Memory is how many bytes the bodies and answers of all calls may take together; 0: DefaultMemory. Where there are
	// several namespaces each has half of it at most.
	Memory int64
	// MaxConnections is how many callers may be connected; 0: any number.
	MaxConnections int
	Logger         *slog.Logger   // nil: discard
	AppCAs         *x509.CertPool // authorities that the certificate of an app may be of, to which webhooks are passed; nil: the system's
	// AppProxy returns the HTTP proxy for a webhook that is passed to an app; nil: there is none.
	AppProxy func(*http.Request) (*url.URL, error)
	// AppDial connects to apps for webhooks, or to their proxy. An error of it that has a method DialRefused() bool says that the
	// service may not connect there. nil: it may anywhere.
	AppDial    func(ctx context.Context, network, address string) (net.Conn, error)
	DrainGrace time.Duration // how long requests in flight get at shutdown; 0: DefaultDrainGrace

	// MetricsTokens are bearer tokens for the metrics, and for nothing else; none: only this machine reads them.
	MetricsTokens []string
	MetricsListen string // address of their own for the metrics; empty: they are a route of the API
}

// Deps are the parts the API stands on.
type Deps struct {
	Store   world.Store
	Queue   world.Queue
	Apps    world.AppRegistry
	Streams world.StreamStore
	// Admin shows and controls the queue; nil: its routes answer 404.
	Admin world.QueueAdmin
	// Forget is told of every run that an answer ends; nil: nobody is.
	Forget world.RunForgetter
	// Waker wakes runs for operators; nil: its route answers 404.
	Waker world.RunWaker
	// Lost lists answered calls that Redis lost; nil: its route answers 404.
	Lost func(ctx context.Context, p world.PageRequest) (world.Page[world.AnsweredCall], error)
	// CheckRun is CodeRunNotFound for a run that does not exist and is not about to; nil: any may exist.
	CheckRun func(ctx context.Context, runID string) error
	// Pair has an event of a bundle and the message that follows it travel together; nil: one after the other.
	Pair func(ctx context.Context) Pair
	// Acknowledged returns the context for a call whose answer says that something was written; nil: its own.
	Acknowledged func(ctx context.Context) context.Context
	// Ready reports why the service cannot work now, in words for people; nil: it can.
	Ready func(ctx context.Context) error
	// Webhook carries webhook requests to apps; nil: a transport of our own.
	Webhook http.RoundTripper
	// Conns wraps the connections of callers; nil: they stay as they are.
	Conns func(net.Conn) net.Conn
	// Metrics serves /metrics; nil: that route answers 404.
	Metrics http.Handler
	// Observe is told of every request when it is answered, by the pattern of its route,
	// "" for none; nil disables it. A live read counts when it ends. A message of a call socket counts, too, with the
	// method WEBSOCKET. The values are few, whatever callers send: a method that HTTP does not define is OTHER, and a
	// status that it does not define is 0.
	Observe func(method, route string, status int, took time.Duration)
	// NewRequestID names calls that came without an Idempotency-Key; nil: random text.
	NewRequestID func() string
}

// Server serves the API. Make one with [New].
type Server struct {
	cfg       Config
	deps      Deps
	log       *slog.Logger
	codec     codec
	auth      *authenticator
	proxy     *webhookProxy
	crew      *crew
	crowd     *crowd // nil: there may be any number of connections
	table     []operation
	bundled   []*operation // those of the table that may be part of a bundle
	echo      *echo.Echo
	pool      *budget.Pool // what the calls of this namespace hold
	live      liveRoom     // of it: what its live reads hold
	keepAlive time.Duration
	patience  time.Duration // how long a body may stand still
	// answerPatience is how long a caller may take nothing of its answer.
	answerPatience time.Duration
	// roomPatience is how long a call waits for room in the pool.
	roomPatience time.Duration
	// retireGrace is how long the client of a call socket may take to hang up.
	retireGrace time.Duration
	// namespaces are servers without routes or a listener of their own, by name.
	namespaces map[string]*Server
	// scrapes is who may read the metrics, and where.
	scrapes scrapes

	sockets   *callSockets
	draining  chan struct{}
	drainOnce sync.Once
	listening chan struct{}
	addr      string // written before listening is closed
}

// New checks the configuration and builds the routes. A listen address that others can
// reach is refused when there is no token. deps are those of the default namespace, whose
// tokens stand in cfg; when only others have tokens, nobody calls that one.
func New(cfg Config, deps Deps, namespaces ...Namespace) (*Server, error) {
	all := cfg.Tokens
	for _, n := range namespaces {
		all = slices.Concat(all, n.Tokens)
	}
	if err := checkListen(cfg.Listen, all); err != nil {
		return nil, err
	}
	if err := checkMetrics(cfg, all); err != nil {
		return nil, err
	}
	if cfg.MaxConnections < 0 {
		return nil, fmt.Errorf("the limit of connections must not be negative, it is %d", cfg.MaxConnections)
	}
	if cfg.Memory < 0 {
		return nil, fmt.Errorf("the memory budget must not be negative, it is %d", cfg.Memory)
	}
	if cfg.MaxBody < 0 {
		return nil, fmt.Errorf("the body limit must not be negative, it is %d", cfg.MaxBody)
	}
	if err := deps.check(); err != nil {
		return nil, err
	}
	s := &Server{
		cfg: cfg, deps: deps, log: cfg.Logger, keepAlive: keepAliveInterval, patience: bodyPatience, answerPatience: answerPatience, retireGrace: retireGrace, roomPatience: roomPatience,
		sockets: new(callSockets), draining: make(chan struct{}), listening: make(chan struct{}),
	}
	s.setDefaults()
	process := budget.New(s.cfg.Memory)
	share := s.cfg.Memory
	if len(namespaces) > 0 {
		share /= 2
	}
	s.pool = process.Part(share)
	s.live = newLiveRoom(s.pool)
	var err error
	if s.codec, err = newCodec(); err != nil {
		return nil, err
	}
	if cfg.MaxConnections > 0 {
		s.crowd = &crowd{most: int64(cfg.MaxConnections), log: s.log}
	}
	s.proxy, s.crew = newWebhookProxy(s), &crew{}
	s.table = operations()
	s.bundled = bundledOf(s.table)
	s.auth = newAuthenticator()
	if err := s.auth.add(cfg.Tokens, s); err != nil {
		return nil, err
	}
	if s.scrapes, err = newScrapes(cfg); err != nil {
		return nil, err
	}
	if err := s.addNamespaces(namespaces, process, share); err != nil {
		return nil, err
	}
	s.echo = s.newEcho()
	return s, nil
}

func (s *Server) setDefaults() {
	if s.cfg.MaxBody == 0 {
		s.cfg.MaxBody = DefaultMaxBody
	}
	if s.cfg.Memory == 0 {
		s.cfg.Memory = DefaultMemory
	}
	if s.cfg.DrainGrace <= 0 {
		s.cfg.DrainGrace = DefaultDrainGrace
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if s.deps.Ready == nil {
		s.deps.Ready = func(context.Context) error { return nil }
	}
	if s.deps.Observe == nil {
		s.deps.Observe = func(string, string, int, time.Duration) {}
	}
	if s.deps.NewRequestID == nil {
		s.deps.NewRequestID = rand.Text
	}
}

// Handler returns the routes without a listener, for tests and for mounting elsewhere.
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
func (s *Server) Drain() { s.drainOnce.Do(func() { close(s.draining) }) }

func (s *Server) isDraining() bool {
	select {
	case <-s.draining:
		return true
	default:
		return false
	}
}

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
		served <- server.Serve(wholeListener{Listener: listener, wrap: s.deps.Conns, patience: s.answerPatience, crowd: s.crowd})
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
	if err := errors.Join(server.Shutdown(grace), s.sockets.wait(grace)); err != nil {
		s.log.Warn("requests were cut at shutdown", slog.Duration("grace", s.cfg.DrainGrace))
		stopWork()
		if err := server.Close(); err != nil {
			s.log.Warn("closing the listener", slog.String("error", err.Error()))
		}
	}
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		s.log.Warn("the listener ended badly", slog.String("error", err.Error()))
	}
	s.close()
	return nil
}

// close ends what waits between calls.
func (s *Server) close() {
	s.proxy.close()
	s.crew.close()
}

// serverOf is a server for connections; the requests' contexts come from work. It has no limit for
// a whole answer or body: live reads last as long as their streams.
func (s *Server) serverOf(work context.Context) *http.Server {
	return &http.Server{
		Handler:           s.echo,
		ReadHeaderTimeout: readHeaderTimeout,
		MaxHeaderBytes:    maxHeader,
		IdleTimeout:       idleTimeout,
		BaseContext:       func(net.Listener) context.Context { return work },
		ConnContext:       withConn,
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
}
