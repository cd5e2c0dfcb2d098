package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
)

// devPrinter prints what `world-redis dev` says between the lines of the app. It writes to stderr, so that the app's stdout
// is its own.
type devPrinter struct {
	mu  sync.Mutex
	out io.Writer
}

func (p *devPrinter) line(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, _ = fmt.Fprintf(p.out, "[world-redis] "+format+"\n", args...) // a closed stderr must not stop the app
}

// started prints where everything is, before the app starts.
func (p *devPrinter) started(service, data string, v variables) {
	p.line("service  %s", service)
	p.line("data     %s", data)
	env := ""
	if v.url != "http://127.0.0.1:8787" {
		env = "WORKFLOW_WORLD_URL=" + v.url + " "
	}
	p.line("runs     %snpx workflow web --backend %s", env, v.world)
	p.line("queue    %sworld-redis queue ls", env)
	if !v.own {
		p.line("NOTE: WORKFLOW_WORLD_URL is set to %s, so the app uses the service there and not the one of this command. Unset it, also in .env files.", v.url)
	}
}

// bootHandler makes warnings about apps plain information while the app of `world-redis dev` is missing.
type bootHandler struct {
	slog.Handler
	isMissing func() bool
}

// Handle implements slog.Handler.
func (h bootHandler) Handle(ctx context.Context, r slog.Record) error {
	if r.Level == slog.LevelWarn && isAboutApps(r) && h.isMissing() {
		r.Level = slog.LevelInfo
		if !h.Enabled(ctx, r.Level) {
			return nil
		}
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (h bootHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return bootHandler{h.Handler.WithAttrs(attrs), h.isMissing}
}

// WithGroup implements slog.Handler.
func (h bootHandler) WithGroup(name string) slog.Handler {
	return bootHandler{h.Handler.WithGroup(name), h.isMissing}
}

func isAboutApps(r slog.Record) bool {
	about := false
	r.Attrs(func(a slog.Attr) bool {
		about = a.Key == "app" || a.Key == "deployment"
		return !about
	})
	return about
}

// isLoopbackHost reports whether a host is this machine by its usual names.
func isLoopbackHost(host string) bool {
	host = strings.Trim(strings.ToLower(strings.TrimSuffix(host, ".")), "[]")
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || host == "::1" || strings.HasPrefix(host, "127.")
}
