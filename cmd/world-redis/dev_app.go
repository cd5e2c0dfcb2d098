package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/embedded"
	"github.com/world-redis/world-redis/internal/pause"
	"github.com/world-redis/world-redis/internal/processtree"
)

const (
	// lookEvery is the time between two looks at the ports while the app is missing, and watchEvery while it is there.
	lookEvery  = 300 * time.Millisecond
	watchEvery = 2 * time.Second
	// probeLimit is long because frameworks compile the route at the first request.
	probeLimit = time.Minute
	// probePause is the time between the first two tries of a port; it doubles up to probePauseMost.
	probePause     = 500 * time.Millisecond
	probePauseMost = 8 * time.Second
	// redirectTries is how many of the first tries ask the app's root for its base path.
	redirectTries = 3
	// settleFor is how long other ports may answer as well, after the first one has.
	settleFor = 200 * time.Millisecond
	// sayMissing is when the developer is told that the app was not found yet.
	sayMissing = 30 * time.Second
	// maxProbes limits the ports that are tried.
	maxProbes = 32
	// devLease is the lease of the registration for an app that does not register, renewed in each third of it.
	devLease = 30 * time.Second
)

// devApp finds the app's port among those of the command's processes, and makes the service deliver there.
type devApp struct {
	say      *devPrinter
	probe    func(ctx context.Context, baseURL string) error
	registry world.AppRegistry
	tree     *processtree.Tree
	names    appNames
	cancel   context.CancelFunc
	ended    sync.WaitGroup

	registered []world.App // by this process

	mu     sync.Mutex          // of the following fields
	ports  map[uint16]struct{} // on which the command listens
	found  foundApp            // zero: the app is missing
	probes map[netip.AddrPort]*portProbe
}

// foundApp is where the app answers.
type foundApp struct {
	addr netip.AddrPort
	path string // base path, without a slash at the end
}

func (f foundApp) shown() string {
	return "http://localhost:" + strconv.Itoa(int(f.addr.Port())) + f.path
}

// appNames are what an app that does not register would be called.
type appNames struct {
	deployment, namespace string
	paths                 []string // base paths of the settings
}

// portProbe is the tries of a port.
type portProbe struct {
	running bool
	tries   int
	next    time.Time // when it is tried again
	answers bool
	path    string // the base path of the app that answers
	reason  string // why there is none
}

func newDevApp(say *devPrinter) *devApp {
	return &devApp{say: say, probe: embedded.New(embedded.Config{}).Check, cancel: func() {}, probes: map[netip.AddrPort]*portProbe{}}
}

// isMissing reports whether no app was found.
func (a *devApp) isMissing() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.found == foundApp{}
}

// redirect decides where the service connects to for an app that was registered at an address, host:port. Of this machine only
// the command's own processes are called: what else listens there may be another app.
func (a *devApp) redirect(address string) (string, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil || !isLoopbackHost(host) {
		return address, nil //nolint:nilerr // the policy refuses it
	}
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return address, nil //nolint:nilerr // as above
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	_, ours := a.ports[uint16(number)]
	switch found := a.found.addr; {
	case found.IsValid() && (!ours || found.Port() == uint16(number)):
		return found.String(), nil
	case ours:
		return address, nil
	default:
		return "", fmt.Errorf("the command of `world-redis dev` does not listen yet: %w", syscall.ECONNREFUSED)
	}
}

// begin looks for the app until stop is called.
func (a *devApp) begin(ctx context.Context, child *devChild, registry world.AppRegistry) {
	ctx, a.cancel = context.WithCancel(ctx)
	a.registry = registry
	a.tree = newTree(child.pid, child.group)
	a.names = namesOf(child.cmd.Env)
	a.ended.Go(func() { a.run(ctx) })
}

// stop ends the search, and the registration by this process. A second time it does nothing.
func (a *devApp) stop() {
	a.cancel()
	a.ended.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	for _, app := range a.registered {
		_ = a.registry.UnregisterApp(ctx, app.BaseURL, app.DeploymentID) // otherwise its lease lapses soon
	}
	a.registered = nil
}

func (a *devApp) run(ctx context.Context) {
	since, told, renewed := time.Now(), false, time.Time{}
	for {
		listeners, err := a.tree.Listeners(ctx)
		if err == nil && a.note(listeners) {
			a.say.line("the app no longer listens; it is looked for again")
			since, told = time.Now(), false
		}
		wait := watchEvery
		switch {
		case !a.isMissing():
			if time.Since(renewed) > devLease/3 {
				a.register(ctx)
				renewed = time.Now()
			}
		case a.findAmong(ctx, listeners):
			a.say.line("app      %s  (after %.1f s)", a.where().shown(), time.Since(since).Seconds())
			renewed = time.Time{}
			continue
		default:
			wait = lookEvery
			if !told && time.Since(since) > sayMissing {
				told = true
				a.say.line("%s", a.whyMissing())
			}
		}
		if !pause.For(ctx, wait) {
			return
		}
	}
}

func (a *devApp) where() foundApp {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.found
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

// best returns the app that answers. Of several, it is the one with the lowest port: those that
// systems give to who asks for none, which dev servers use between their own processes, are the highest. The mutex is held.
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

// register registers the app for the deployments that have no live app: it may never register itself. If it does, its own
// registration counts, which says more about it.
func (a *devApp) register(ctx context.Context) {
	apps, err := a.registry.ListApps(ctx)
	if err != nil {
		return // Redis is away; the next look tries again
	}
	found := a.where()
	base := "http://" + found.addr.String() + found.path
	wanted := []world.App{{DeploymentID: a.names.deployment, Namespace: a.names.namespace}}
	for _, app := range apps {
		known := slices.ContainsFunc(wanted, func(w world.App) bool { return w.DeploymentID == app.DeploymentID })
		if u, err := url.Parse(app.BaseURL); err == nil && isLoopbackHost(u.Hostname()) && !known {
			wanted = append(wanted, world.App{DeploymentID: app.DeploymentID, SDK: app.SDK, Namespace: app.Namespace, TakesPreload: app.TakesPreload})
		}
	}
	var registered []world.App
	for _, app := range wanted {
		if slices.ContainsFunc(apps, func(other world.App) bool {
			return other.DeploymentID == app.DeploymentID && other.Alive && !a.isOwn(other)
		}) {
			continue
		}
		app.BaseURL, app.Lease = base, devLease
		if a.registry.RegisterApp(ctx, app) == nil {
			registered = append(registered, app)
		}
	}
	for _, app := range a.registered {
		again := slices.ContainsFunc(registered, func(r world.App) bool { return r.DeploymentID == app.DeploymentID && r.BaseURL == app.BaseURL })
		current := slices.ContainsFunc(apps, func(other world.App) bool {
			return other.BaseURL == app.BaseURL && other.DeploymentID == app.DeploymentID && a.isOwn(other)
		})
		if !again && current {
			_ = a.registry.UnregisterApp(ctx, app.BaseURL, app.DeploymentID) // otherwise its lease lapses soon
		}
	}
	a.registered = registered
}

// isOwn reports whether a registration is by this process. The app itself may have written over it.
func (a *devApp) isOwn(app world.App) bool {
	return slices.ContainsFunc(a.registered, func(r world.App) bool {
		return r.BaseURL == app.BaseURL && r.DeploymentID == app.DeploymentID && r.SDK == app.SDK && r.TakesPreload == app.TakesPreload
	})
}

// namesOf reads from the command's variables what its app would register, and the base paths that frameworks take from there.
func namesOf(environ []string) appNames {
	set := environment(environ)
	names := appNames{deployment: set.get("WORKFLOW_DEPLOYMENT_ID"), namespace: set.get("WORKFLOW_QUEUE_NAMESPACE")}
	if names.deployment == "" {
		names.deployment = defaultDeployment
	}
	for _, name := range []string{"NITRO_APP_BASE_URL", "NUXT_APP_BASE_URL"} {
		names.paths = append(names.paths, set.get(name))
	}
	return names
}
