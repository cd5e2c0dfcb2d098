package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/embedded"
	"github.com/world-redis/world-redis/internal/dialpolicy"
)

// defaultDeployment is the deployment of apps that do not name theirs, so two apps may have it.
const defaultDeployment = "dpl_world-redis"

// appProbe finds out what answers at the address of an app.
type appProbe struct {
	check    func(ctx context.Context, baseURL string) error
	who      func(ctx context.Context, baseURL, nonce string) (embedded.Answerer, bool, error)
	mayCall  func(baseURL string) error
	hasToken bool // callers have a token, so the address they call from may be tried
	own      func() []netip.Addr
}

// look makes one try.
func (p appProbe) look(ctx context.Context, r registration) appFinding {
	f := p.at(ctx, r.App)
	if p.isElsewhere(r) && !f.proved {
		f = p.atCaller(ctx, r, f)
	}
	f.At = world.MillisOf(world.SystemClock{}.Now())
	return f
}

// at finds out what answers at the registered address.
func (p appProbe) at(ctx context.Context, a world.App) appFinding {
	if err := p.check(ctx, a.BaseURL); err != nil {
		refused := new(dialpolicy.RefusedError)
		return appFinding{Code: world.NoAnswer, Reason: err.Error(), hopeless: errors.As(err, &refused)}
	}
	if a.Nonce == "" { // the configured address, or an app with an older client
		return appFinding{}
	}
	who, known, err := p.who(ctx, a.BaseURL, a.Nonce)
	switch {
	case errors.Is(err, embedded.ErrSignature):
		return appFinding{Code: world.SignatureRefused, Reason: err.Error()}
	case err != nil:
		return appFinding{Code: world.NoAnswer, Reason: err.Error()}
	case !known: // an older client, or an app without ours: as good as can be known
		return appFinding{}
	case who.Proved:
		return appFinding{proved: true}
	case who.Deployment != a.DeploymentID:
		return appFinding{Code: world.OtherApp, Reason: fmt.Sprintf("its deployment is %q, and this one is %q", who.Deployment, a.DeploymentID)}
	case a.DeploymentID == defaultDeployment && a.Workflows != "" && who.Workflows != "" && who.Workflows != a.Workflows:
		return appFinding{Code: world.OtherApp, Reason: otherWorkflows(a.Workflows, who.Workflows)}
	default:
		return appFinding{}
	}
}

// otherWorkflows describes how the workflows of two apps differ.
func otherWorkflows(registered, answers string) string {
	own, theirs := strings.Split(registered, "\n"), strings.Split(answers, "\n")
	shown := theirs[0]
	for _, name := range theirs {
		if !slices.Contains(own, name) {
			shown = name
			break
		}
	}
	if !slices.ContainsFunc(theirs, func(name string) bool { return slices.Contains(own, name) }) {
		return fmt.Sprintf("it has other workflows, such as %.100q; set WORKFLOW_DEPLOYMENT_ID of each app, too", shown)
	}
	return "its workflows differ from those of this one; is it another version? Set WORKFLOW_DEPLOYMENT_ID of each version"
}

// isElsewhere reports whether an app registered localhost from another machine or container.
func (p appProbe) isElsewhere(r registration) bool {
	return isRemote(r.from) && isLocalhost(r.BaseURL) && !slices.Contains(p.own(), r.from)
}

// isRemote reports whether a caller is known to be at another address than localhost.
func isRemote(from netip.Addr) bool { return from.IsValid() && !from.IsLoopback() }

// isLocalhost reports whether an address is one of the service's own machine.
func isLocalhost(baseURL string) bool {
	u, err := url.Parse(baseURL)
	if err != nil {
		return false
	}
	host := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || err == nil && ip.Unmap().IsLoopback()
}

// ownAddresses returns the addresses of this machine.
func ownAddresses() []netip.Addr {
	var own []netip.Addr
	found, err := net.InterfaceAddrs()
	if err != nil {
		return nil
	}
	for _, a := range found {
		if ipNet, ok := a.(*net.IPNet); ok {
			if ip, ok := netip.AddrFromSlice(ipNet.IP); ok {
				own = append(own, ip.Unmap())
			}
		}
	}
	return own
}
