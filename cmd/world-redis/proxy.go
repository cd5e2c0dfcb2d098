package main

import (
	"log/slog"

	"github.com/world-redis/world-redis/cmd/internal/httpproxy"
)

// sayProxy logs at start whether requests to apps use a proxy, if there is anything to log.
func sayProxy(c config, getenv func(string) string, logger *slog.Logger) {
	if c.Proxy != "" {
		logger.Info("requests to apps use an HTTP proxy, except for loopback addresses",
			slog.String("setting", httpproxy.Variable), slog.String("proxy", httpproxy.Describe(c.Proxy, getenv)))
	} else if ignored := httpproxy.Ignored(c.Proxy, getenv); ignored != "" {
		logger.Info("requests to apps use no proxy, although the environment names one; set "+httpproxy.Variable+"=env to use it",
			slog.String("environment", ignored))
	}
}
