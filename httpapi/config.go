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
	DefaultDrainGrace = 10 * time.Second // for running requests at shutdown
)

// Config has the settings that the namespaces share.
type Config struct {
	Listen  string   // host:port; port 0 picks a free one
	Version string   // of the service, for callers who may know it
	Tokens  []string // bearer tokens of the default namespace; none: no check, loopback only
	BaseURL string   // the app that gets webhooks if none is registered; empty: none
	MaxBody int64    // limit of a request body, in bytes; 0: DefaultMaxBody
	// Memory limits the bytes of the bodies and answers of all calls together; 0: DefaultMemory. If there are
	// several namespaces, each may use half of it.
	Memory int64
	// MaxConnections limits the connections of callers; 0: no limit.
	MaxConnections int
	// NoBundles answers bundles of calls 404, and NoCallSockets call sockets.
	NoBundles, NoCallSockets bool
	Logger                   *slog.Logger   // nil: discard
	AppCAs                   *x509.CertPool // trusted CAs of the apps that webhooks are forwarded to; nil: the system's
	// AppProxy returns the HTTP proxy for a webhook that is forwarded to an app; nil disables it.
	AppProxy func(*http.Request) (*url.URL, error)
	// AppDial connects to apps for webhooks, or to their proxy. An error with a method DialRefused() bool says that the
	// service may not connect to that address. nil: it may connect to any.
	AppDial func(ctx context.Context, network, address string) (net.Conn, error)
	// Webhook forwards webhook requests to apps; nil: a new http.Transport.
	Webhook    http.RoundTripper
	DrainGrace time.Duration // time for running requests at shutdown; 0: DefaultDrainGrace

	// MetricsTokens are bearer tokens that only allow reading the metrics; none: only this machine reads them.
	MetricsTokens []string
	MetricsListen string // separate address for the metrics; empty: they are a route of the API
	// Metrics serves /metrics; if it is nil, that route answers 404.
	Metrics http.Handler

	// Ready returns why the service cannot work now, in words for people. If it is nil, the service is always ready.
	Ready func(ctx context.Context) error
	// Conns wraps the connections of callers; nil disables it.
	Conns func(net.Conn) net.Conn
	// Observe is called for every answered request with the pattern of its route,
	// "" for none; nil disables it. A live read counts when it ends. A message of a call socket counts, too, with the
	// method WEBSOCKET. The number of different values is bounded: a method that HTTP does not define is OTHER, and a
	// status that it does not define is 0.
	Observe func(method, route string, status int, took time.Duration)
	// NewRequestID returns the id of a call without an Idempotency-Key; nil: random text.
	NewRequestID func() string
}

// withDefaults returns the configuration with defaults for absent values.
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

// check returns an error for an invalid or insecure configuration. tokens are those of all namespaces.
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
