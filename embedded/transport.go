package embedded

import (
	"crypto/tls"
	"net"
	"net/http"
	"time"

	"github.com/world-redis/world-redis/internal/quietconn"
)

const (
	dialTimeout = 5 * time.Second
	// idleTimeout is less than the 5 s after which a Node server closes an idle connection, so that a request does
	// not use a connection that is being closed.
	idleTimeout = 4 * time.Second
	// idlePerHost is how many connections a burst of deliveries may leave open for the next one.
	idlePerHost = 256
	// writeBuffer holds most deliveries completely, including the preloaded log: every further write wakes the app
	// once more. The buffers of idle connections take at most 8 MB per app.
	writeBuffer = 32 << 10
	// A peer that vanished is noticed within about a minute. A healthy one that computes for hours answers the
	// probes.
	keepAliveIdle     = 15 * time.Second
	keepAliveInterval = 15 * time.Second
	keepAliveCount    = 3
)

// newTransport returns a transport without a time limit for answers.
func newTransport(cfg Config) *http.Transport {
	dialer := &net.Dialer{
		Timeout: dialTimeout,
		KeepAliveConfig: net.KeepAliveConfig{
			Enable: true, Idle: keepAliveIdle, Interval: keepAliveInterval, Count: keepAliveCount,
		},
	}
	dial := quietconn.Dial(cfg.Policy.Dial(dialer))
	if !cfg.NoQuietConns {
		dial = quietconn.Dialer(dial)
	}
	return &http.Transport{
		Proxy: cfg.Policy.Proxy(cfg.Proxy),
		// For "localhost" the dialer tries IPv6 and IPv4.
		DialContext:         dial,
		TLSHandshakeTimeout: dialTimeout,
		TLSClientConfig:     &tls.Config{RootCAs: cfg.AppCAs, MinVersion: tls.VersionTLS12},
		MaxIdleConns:        0,
		MaxIdleConnsPerHost: idlePerHost,
		MaxConnsPerHost:     cfg.MaxConnsPerHost,
		IdleConnTimeout:     idleTimeout,
		DisableCompression:  true,
		WriteBufferSize:     writeBuffer,
	}
}
