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
	// idleTimeout is shorter than the 5 s after which a Node server closes an idle
	// connection, so that a request does not meet a connection that is being closed.
	idleTimeout = 4 * time.Second
	// idlePerHost is what a burst of deliveries may leave open for the next one.
	idlePerHost = 256
	// writeBuffer holds most deliveries whole, with the log that goes along: each write more wakes the app once more.
	// In connections that idle it takes 8 MB an app at most.
	writeBuffer = 32 << 10
	// A peer that is gone without a word is noticed within about a minute; a healthy one
	// that computes for hours answers the probes.
	keepAliveIdle     = 15 * time.Second
	keepAliveInterval = 15 * time.Second
	keepAliveCount    = 3
)

// newTransport returns a transport without any limit on how long an answer takes.
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
