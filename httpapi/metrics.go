package httpapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/httpapi/internal/refuse"
	"github.com/world-redis/world-redis/httpapi/internal/transport"
)

// The metrics name all namespaces and the sizes of their queues, so access is restricted: they have their own tokens,
// and may have their own address. Without either, only this machine can read them, if the service listens on
// loopback.

// metricsTimeout limits a scrape: sending the request, and reading the answer.
const metricsTimeout = 30 * time.Second

// checkMetrics refuses settings that would show the metrics to others, or to nobody.
func checkMetrics(cfg Config, apiTokens []string) error {
	for _, token := range cfg.MetricsTokens {
		if slices.Contains(apiTokens, token) {
			return errors.New("a token in WORKFLOW_WORLD_METRICS_TOKEN is also one of the API: a reader of the metrics could make any call")
		}
	}
	if cfg.MetricsListen == "" {
		return checkTokens(cfg.Listen, " in WORKFLOW_WORLD_METRICS_TOKEN", cfg.MetricsTokens)
	}
	if _, _, err := net.SplitHostPort(cfg.MetricsListen); err != nil {
		return fmt.Errorf("WORKFLOW_WORLD_METRICS_LISTEN is %q, which is not host:port, such as 127.0.0.1:9787", cfg.MetricsListen)
	}
	return checkTokens(cfg.MetricsListen, " in WORKFLOW_WORLD_METRICS_TOKEN", cfg.MetricsTokens)
}

// scrapes says who may read the metrics.
type scrapes struct {
	holders *authenticator // the tokens for the metrics; there may be none
	// loopback says that only this machine can reach their address.
	loopback bool
	addr     string // their separate address; written before listening is closed
}

func newScrapes(cfg Config) (scrapes, error) {
	p := scrapes{holders: newAuthenticator()}
	host, _, err := net.SplitHostPort(cmp.Or(cfg.MetricsListen, cfg.Listen))
	p.loopback = err == nil && isLoopback(host)
	return p, p.holders.add(cfg.MetricsTokens, nil) // they are for no namespace
}

// admit refuses a request that may not read the metrics. Without a token, only this machine may read them. The Host must be
// loopback, too, because a proxy or a browser on this machine may forward requests of others.
func (p *scrapes) admit(answer http.Header, r *http.Request) error {
	if len(p.holders.tokens) == 0 {
		if !p.loopback || !isLoopback(hostOnly(r.Host)) {
			return world.Errorf(refuse.CodeForbidden, "without a token, only this machine can read the metrics, over loopback: set WORKFLOW_WORLD_METRICS_TOKEN, or set WORKFLOW_WORLD_METRICS_LISTEN to an address that only readers of the metrics can reach")
		}
		return nil
	}
	if _, known := p.holders.owner(r.Header.Get(echo.HeaderAuthorization)); !known {
		answer.Set(echo.HeaderWWWAuthenticate, "Bearer")
		return world.Errorf(world.CodeUnauthorized, "the metrics need a token: send WORKFLOW_WORLD_METRICS_TOKEN as Authorization: Bearer <token>")
	}
	return nil
}

// metrics serves GET /metrics of the API.
func (s *Server) metrics(c echo.Context) error {
	switch {
	case s.cfg.Metrics == nil:
		return world.Errorf(world.CodeNotFound, "this service has no metrics")
	case s.cfg.MetricsListen != "":
		return world.Errorf(world.CodeNotFound, "the metrics have an address of their own, that of WORKFLOW_WORLD_METRICS_LISTEN")
	}
	if err := s.scrapes.admit(c.Response().Header(), c.Request()); err != nil {
		return err
	}
	s.cfg.Metrics.ServeHTTP(c.Response(), c.Request())
	return nil
}

// serveMetrics serves GET /metrics at the separate address. If other machines can reach that and there is no token, the
// address decides who may read them.
func (s *Server) serveMetrics(w http.ResponseWriter, r *http.Request) {
	if s.scrapes.loopback || len(s.scrapes.holders.tokens) > 0 {
		if err := s.scrapes.admit(w.Header(), r); err != nil {
			refusal := s.Refusal(r.Context(), err, transport.Origin{Method: r.Method, Route: r.Pattern})
			status, _ := refuse.WireForm(refusal.Code)
			http.Error(w, refusal.Message, status)
			return
		}
	}
	s.cfg.Metrics.ServeHTTP(w, r)
}

// MetricsAddr returns the bound address of the metrics, "" before [Server.Listening] is closed, and if they have no separate one.
func (s *Server) MetricsAddr() string {
	select {
	case <-s.listening:
		return s.scrapes.addr
	default:
		return ""
	}
}

// startMetrics listens at the separate address of the metrics, if they have one; stop ends that.
func (s *Server) startMetrics(ctx context.Context) (stop func(), err error) {
	if s.cfg.MetricsListen == "" || s.cfg.Metrics == nil {
		return func() {}, nil
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", s.cfg.MetricsListen)
	if err != nil {
		return nil, fmt.Errorf("cannot serve metrics on %s: %w", s.cfg.MetricsListen, err)
	}
	s.scrapes.addr = listener.Addr().String()
	routes := http.NewServeMux()
	routes.HandleFunc("GET /metrics", s.serveMetrics)
	server := &http.Server{
		Handler: routes, ReadHeaderTimeout: readHeaderTimeout, ReadTimeout: metricsTimeout, WriteTimeout: metricsTimeout, IdleTimeout: idleTimeout,
		MaxHeaderBytes: maxHeader, ErrorLog: slog.NewLogLogger(s.Log.Handler(), slog.LevelDebug),
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	return func() {
		if err := server.Close(); err != nil {
			s.Log.Warn("the listener of the metrics could not be closed", slog.String("error", err.Error()))
		}
		if err := <-served; !errors.Is(err, http.ErrServerClosed) {
			s.Log.Warn("the listener of the metrics failed", slog.String("error", err.Error()))
		}
	}, nil
}
