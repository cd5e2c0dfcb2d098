package httpapi

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/x509"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"time"
)

// Defaults of a [Config].
const (
	DefaultMaxBody    = 64 << 20         // bytes
	DefaultMemory     = 128 << 20        // bytes that the bodies and answers of all calls may take together
	DefaultDrainGrace = 10 * time.Second // for requests in flight at shutdown
)

// Config says where and how to serve: what the service has once, however many namespaces there are.
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
	// NoBundles has bundles of calls answered 404, and NoCallSockets the sockets that carry them.
	NoBundles, NoCallSockets bool
	Logger                   *slog.Logger   // nil: discard
	AppCAs                   *x509.CertPool // authorities that the certificate of an app may be of, to which webhooks are passed; nil: the system's
	// AppProxy returns the HTTP proxy for a webhook that is passed to an app; nil: there is none.
	AppProxy func(*http.Request) (*url.URL, error)
	// AppDial connects to apps for webhooks, or to their proxy. An error of it that has a method DialRefused() bool says that the
	// service may not connect there. nil: it may anywhere.
	AppDial func(ctx context.Context, network, address string) (net.Conn, error)
	// Webhook carries webhook requests to apps; nil: a transport of our own.
	Webhook    http.RoundTripper
	DrainGrace time.Duration // how long requests in flight get at shutdown; 0: DefaultDrainGrace

	// MetricsTokens are bearer tokens for the metrics, and for nothing else; none: only this machine reads them.
	MetricsTokens []string
	MetricsListen string // address of their own for the metrics; empty: they are a route of the API
	// Metrics serves /metrics; nil: that route answers 404.
	Metrics http.Handler

	// Ready reports why the service cannot work now, in words for people; nil: it can.
	Ready func(ctx context.Context) error
	// Conns wraps the connections of callers; nil: they stay as they are.
	Conns func(net.Conn) net.Conn
	// Observe is called for every request when it is answered, with the pattern of its route,
	// "" for none; nil disables it. A live read counts when it ends. A message of a call socket counts, too, with the
	// method WEBSOCKET. The values are few, whatever callers send: a method that HTTP does not define is OTHER, and a
	// status that it does not define is 0.
	Observe func(method, route string, status int, took time.Duration)
	// NewRequestID names calls that came without an Idempotency-Key; nil: random text.
	NewRequestID func() string
}

// withDefaults returns the configuration with the defaults of what was left out.
func (c Config) withDefaults() Config {
	c.MaxBody = cmp.Or(c.MaxBody, DefaultMaxBody)
	c.Memory = cmp.Or(c.Memory, DefaultMemory)
	if c.DrainGrace <= 0 {
		c.DrainGrace = DefaultDrainGrace
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Ready == nil {
		c.Ready = func(context.Context) error { return nil }
	}
	if c.Observe == nil {
		c.Observe = func(string, string, int, time.Duration) {}
	}
	if c.NewRequestID == nil {
		c.NewRequestID = rand.Text
	}
	return c
}

// check refuses a configuration that the service cannot or must not run with. tokens are those of all namespaces.
func (c Config) check(tokens []string) error {
	if err := checkListen(c.Listen, tokens); err != nil {
		return err
	}
	if err := checkMetrics(c, tokens); err != nil {
		return err
	}
	switch {
	case c.MaxConnections < 0:
		return fmt.Errorf("the limit of connections must not be negative, it is %d", c.MaxConnections)
	case c.Memory < 0:
		return fmt.Errorf("the memory budget must not be negative, it is %d", c.Memory)
	case c.MaxBody < 0:
		return fmt.Errorf("the body limit must not be negative, it is %d", c.MaxBody)
	default:
		return nil
	}
}
