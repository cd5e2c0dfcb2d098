package main

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strconv"
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
	// sayMissing is when a line says that the app was not found yet.
	sayMissing = 30 * time.Second
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
	since, said, renewed := time.Now(), false, time.Time{}
	for {
		listeners, err := a.tree.Listeners(ctx)
		if err == nil && a.note(listeners) {
			a.say.line("the app no longer listens; it is looked for again")
			since, said = time.Now(), false
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
			if !said && time.Since(since) > sayMissing {
				said = true
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
