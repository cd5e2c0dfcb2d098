package embedded

import (
	"context"
	"crypto/x509"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"sync/atomic"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/dialpolicy"
)

// maxBody is how many bytes of an answer are read; an acknowledgement has a few.
const maxBody = 1 << 20

// Config configures a Forwarder. The zero value of a field means its default.
type Config struct {
	Logger          *slog.Logger
	MaxConnsPerHost int            // open connections to one app; 0: no limit
	SigningKeys     [][]byte       // each signs every delivery; none means that deliveries are not signed
	Clock           world.Clock    // nil means the system's clock
	AppCAs          *x509.CertPool // CAs trusted for apps' certificates; nil means the system's
	// NoQuietConns leaves connections to apps unwrapped, without [quietconn].
	NoQuietConns bool
	// Proxy returns the HTTP proxy for a request; nil means none.
	Proxy func(*http.Request) (*url.URL, error)
	// Policy decides which addresses may be connected to; nil means the default policy.
	Policy *dialpolicy.Policy
	// Preload returns the preload of a delivery to an app that accepts one (world.Delivery.TakesPreload): the answer to
	// run_started in CBOR, or nil if there is none. It is called just before each POST, which waits for it; its
	// context ends after a quarter of a second. What it saw of the log is part of the delivery's outcome. nil
	// disables it.
	Preload func(ctx context.Context, d world.Delivery) ([]byte, world.LogSeen)
}

// Forwarder delivers messages by HTTP. It is safe for concurrent use.
type Forwarder struct {
	client  *http.Client
	fresh   *http.Client // makes a new connection for each request
	proxy   func(*http.Request) (*url.URL, error)
	log     *slog.Logger
	keys    [][]byte
	clock   world.Clock
	preload func(ctx context.Context, d world.Delivery) ([]byte, world.LogSeen)
	policy  *dialpolicy.Policy
}

// New returns a Forwarder.
func New(cfg Config) *Forwarder {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Clock == nil {
		cfg.Clock = world.SystemClock{}
	}
	if cfg.Policy == nil {
		cfg.Policy = dialpolicy.New(dialpolicy.Hosts{})
	}
	f := &Forwarder{
		log:     cfg.Logger,
		keys:    cfg.SigningKeys,
		clock:   cfg.Clock,
		preload: cfg.Preload,
		proxy:   cfg.Proxy,
		policy:  cfg.Policy,
		client: &http.Client{
			Transport: newTransport(cfg),
			// A redirect leads to a login page or changes the method. It never leads to the handler.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
	transport := newTransport(cfg)
	transport.DisableKeepAlives = true
	f.fresh = &http.Client{Transport: transport, CheckRedirect: f.client.CheckRedirect}
	return f
}

// Close closes idle connections.
func (f *Forwarder) Close() { f.client.CloseIdleConnections() }

// Deliver implements world.Deliverer. An app that refuses CBOR gets the message once more, as JSON.
func (f *Forwarder) Deliver(ctx context.Context, d world.Delivery) world.Outcome {
	if d.AsJSON {
		d = asJSON(d)
	}
	out := f.reach(ctx, d)
	if !refusesCBOR(d, out) {
		return out
	}
	return again(out, f.reach(ctx, asJSON(d)))
}

// reach makes a request, and if another deployment answers, once more on a new connection: behind a load balancer that
// distributes connections, a new one may lead to the right process, and an old one never does.
func (f *Forwarder) reach(ctx context.Context, d world.Delivery) world.Outcome {
	if d.NewConnection {
		return f.deliver(ctx, d, f.fresh)
	}
	out := f.deliver(ctx, d, f.client)
	if out.Misdirected {
		out = f.deliver(ctx, d, f.fresh)
	}
	return out
}

// deliver makes one request.
func (f *Forwarder) deliver(ctx context.Context, d world.Delivery, client *http.Client) world.Outcome {
	target, err := endpoint(d.BaseURL, d.Kind)
	if err != nil {
		return world.Outcome{Verdict: world.Failed, Reason: err.Error()}
	}
	// Only a request that got no connection certainly has not reached the app.
	var connected atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { connected.Store(true) },
	})
	preload, seen := f.preloadOf(ctx, d)
	req, body, err := newRequest(ctx, target, d, preload)
	if err != nil {
		return world.Outcome{Verdict: world.Failed, Reason: err.Error()}
	}
	sign(req, string(d.Kind), body, f.keys, f.clock.Now())
	via := f.via(req)
	resp, err := client.Do(req)
	if err != nil {
		refused := new(dialpolicy.RefusedError)
		return world.Outcome{
			Verdict: world.Unreachable, Reason: explain(target, via, err, connected.Load()), Sent: connected.Load(), NoApp: errors.As(err, &refused),
		}
	}
	defer func() { _ = resp.Body.Close() }() // nothing more is needed
	said, err := io.ReadAll(io.LimitReader(resp.Body, maxBody+1))
	if err != nil {
		return world.Outcome{Verdict: world.Unreachable, Status: resp.StatusCode, Reason: explain(target, via, err, true), Sent: true}
	}
	out := judge(answer{url: target, status: resp.StatusCode, header: resp.Header, body: said, via: via})
	out.Seen = seen
	f.log.Debug("delivered", slog.String("url", target), slog.String("message", d.MessageID), slog.Int("attempt", d.Attempt),
		slog.Int("status", resp.StatusCode), slog.Int("bytes", len(said)))
	return out
}
