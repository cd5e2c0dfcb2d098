package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/world-redis/world-redis/internal/pause"
	"github.com/world-redis/world-redis/internal/processtree"
)

const (
	// probeLimit is long because frameworks compile the route at the first request.
	probeLimit = time.Minute
	// probePause is the time between the first two tries of a port; it doubles up to probePauseMost.
	probePause     = 500 * time.Millisecond
	probePauseMost = 8 * time.Second
	// redirectTries is how many of the first tries ask the app's root for its base path.
	redirectTries = 3
	// settleFor is how long other ports may answer as well, after the first one has.
	settleFor = 200 * time.Millisecond
	// maxProbes limits the ports that are tried.
	maxProbes = 32
)

// portProbe is the tries of a port.
type portProbe struct {
	running bool
	tries   int
	next    time.Time // when it is tried again
	answers bool
	path    string // the base path of the app that answers
	reason  string // why there is none
}

// note stores the ports on which the command listens, and reports whether the app that was found is gone.
func (a *devApp) note(listeners []processtree.Listener) (gone bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ports = map[uint16]struct{}{}
	open := map[netip.AddrPort]struct{}{}
	for _, l := range listeners {
		a.ports[l.Addr.Port()] = struct{}{}
		open[reachable(l.Addr)] = struct{}{}
	}
	for addr := range a.probes {
		if _, still := open[addr]; !still {
			delete(a.probes, addr)
		}
	}
	if _, still := open[a.found.addr]; a.found != (foundApp{}) && !still {
		a.found = foundApp{}
		return true
	}
	return false
}

// reachable returns where a listener is reached from this machine.
func reachable(addr netip.AddrPort) netip.AddrPort {
	if !addr.Addr().IsUnspecified() {
		return addr
	}
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), addr.Port())
}

// findAmong tries ports, each by itself, since one may not answer for long. It reports whether an app was found.
func (a *devApp) findAmong(ctx context.Context, listeners []processtree.Listener) bool {
	now := time.Now()
	a.mu.Lock()
	for _, l := range listeners {
		addr := reachable(l.Addr)
		p := a.probes[addr]
		if p == nil {
			if len(a.probes) >= maxProbes {
				continue
			}
			p = &portProbe{}
			a.probes[addr] = p
		}
		if p.running || p.answers || now.Before(p.next) {
			continue
		}
		p.running = true
		p.tries++
		tries := p.tries
		a.ended.Go(func() { a.try(ctx, addr, p, tries) })
	}
	_, answers := a.best()
	a.mu.Unlock()
	if !answers || !pause.For(ctx, settleFor) {
		return false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	found, ok := a.best()
	if ok {
		a.found = found
		clear(a.probes)
	}
	return ok
}

// best returns the app that answers. Of several, it is the one with the lowest port: dev servers let the system choose the ports
// between their own processes, and those are the highest. The mutex is held.
func (a *devApp) best() (foundApp, bool) {
	var all []foundApp
	for addr, p := range a.probes {
		if p.answers {
			all = append(all, foundApp{addr, p.path})
		}
	}
	if len(all) == 0 {
		return foundApp{}, false
	}
	return slices.MinFunc(all, func(x, y foundApp) int {
		return int(x.addr.Port()) - int(y.addr.Port())
	}), true
}

// try asks one port for an app.
func (a *devApp) try(ctx context.Context, addr netip.AddrPort, p *portProbe, tries int) {
	ctx, cancel := context.WithTimeout(ctx, probeLimit)
	defer cancel()
	base := "http://" + addr.String()
	err := a.probe(ctx, base)
	path := ""
	if err != nil {
		for _, path = range a.basePaths(ctx, base, tries) {
			if a.probe(ctx, base+path) == nil {
				err = nil
				break
			}
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	p.running, p.next = false, time.Now().Add(min(probePause<<min(tries-1, 10), probePauseMost))
	if err != nil {
		p.reason = err.Error()
		return
	}
	p.answers, p.path = true, path
}

// basePaths returns the base paths that the app may have: those of the settings, of Next's build, of the app's own
// registrations, and where its root redirects to.
func (a *devApp) basePaths(ctx context.Context, base string, tries int) []string {
	paths := slices.Clone(a.names.paths)
	for _, file := range []string{".next/dev/routes-manifest.json", ".next/routes-manifest.json"} {
		var manifest struct {
			BasePath string `json:"basePath"`
		}
		if content, err := os.ReadFile(filepath.FromSlash(file)); err == nil && json.Unmarshal(content, &manifest) == nil { //nolint:gosec // one of the two
			paths = append(paths, manifest.BasePath)
		}
	}
	if apps, err := a.registry.ListApps(ctx); err == nil {
		for _, app := range apps {
			if u, err := url.Parse(app.BaseURL); err == nil && isLoopbackHost(u.Hostname()) {
				paths = append(paths, u.EscapedPath())
			}
		}
	}
	if tries <= redirectTries {
		paths = append(paths, redirectOf(ctx, base))
	}
	var out []string
	for _, path := range paths {
		path = strings.TrimRight(path, "/")
		if strings.HasPrefix(path, "/") && !slices.Contains(out, path) {
			out = append(out, path)
		}
	}
	return out
}

// redirectOf returns the path to which an app's root redirects; empty if it does not.
func redirectOf(ctx context.Context, base string) string {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/", http.NoBody)
	if err != nil {
		return ""
	}
	client := http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	resp, err := client.Do(req)
	if err != nil {
		return ""
	}
	defer func() { _ = resp.Body.Close() }() // nothing of it is needed
	if at, err := resp.Location(); err == nil && isLoopbackHost(at.Hostname()) {
		return at.EscapedPath()
	}
	return ""
}

// whyMissing says what was tried.
func (a *devApp) whyMissing() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.ports) == 0 {
		return "NOTE: no process of the command listens on a port yet; messages wait for the app"
	}
	var tried []string
	for addr, p := range a.probes {
		reason := p.reason
		if reason == "" {
			reason = "no answer yet"
		}
		tried = append(tried, fmt.Sprintf("port %d: %s", addr.Port(), reason))
	}
	slices.Sort(tried)
	return "NOTE: none of the command's ports is a workflow app yet; messages wait for it. " + strings.Join(tried, "; ") +
		". Does the app have the Workflow SDK's routes, does it answer by http, and does no middleware stand before them?"
}
