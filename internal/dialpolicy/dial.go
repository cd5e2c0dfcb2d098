package dialpolicy

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"syscall"
)

// Dial returns the dial function of an http.Transport, which enforces the policy. The dialer must not have a Control
// function.
func (p *Policy) Dial(dialer *net.Dialer) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		if p.isProxy(address) {
			return dialer.DialContext(ctx, network, address)
		}
		if p.redirect != nil {
			chosen, err := p.redirect(address)
			if err != nil {
				return nil, err
			}
			address = chosen
		}
		host, port, err := net.SplitHostPort(address)
		if err != nil {
			return nil, &RefusedError{address, "it is not host:port"}
		}
		t, err := newTarget(address, host, port)
		if err != nil {
			return nil, err
		}
		if err := p.checkText(t, false); err != nil {
			return nil, err
		}
		named := !t.ip.IsValid() && p.hosts.takesName(t.host)
		guarded := *dialer
		guarded.ControlContext = func(_ context.Context, _, address string, _ syscall.RawConn) error {
			found, err := netip.ParseAddrPort(address)
			if err != nil {
				return &RefusedError{address, "it is not an IP address and a port"}
			}
			return p.checkAddress(shown(t, found), found.Addr(), found.Port(), named)
		}
		return guarded.DialContext(ctx, network, address)
	}
}

// shown returns a dialled address with the name that resolved to it.
func shown(t target, found netip.AddrPort) string {
	if t.ip.IsValid() {
		return t.text
	}
	return t.text + " (" + found.Addr().String() + ")"
}

// Proxy returns the Proxy function of an http.Transport with the Dial above. choose is the operator's function; nil
// stays nil. A request through a proxy is checked here by its host's text, because the proxy resolves names. If
// [Hosts] are listed, such a name must be among them.
func (p *Policy) Proxy(choose func(*http.Request) (*url.URL, error)) func(*http.Request) (*url.URL, error) {
	if choose == nil {
		return nil
	}
	return func(r *http.Request) (*url.URL, error) {
		proxy, err := choose(r)
		if err != nil {
			return nil, err
		}
		t, err := parseURL(r.URL.String())
		if err != nil {
			return nil, err
		}
		if proxy == nil {
			if p.isProxy(hostPort(r.URL)) {
				return nil, &RefusedError{t.text, "it is the proxy of the service"}
			}
			return nil, nil //nolint:nilnil // net/http's value for no proxy
		}
		if err := p.checkText(t, true); err != nil {
			return nil, err
		}
		p.noteProxy(hostPort(proxy))
		return proxy, nil
	}
}

// hostPort returns the address that net/http dials for a URL.
func hostPort(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"https": "443", "socks5": "1080", "socks5h": "1080"}[u.Scheme]
		if port == "" {
			port = "80"
		}
	}
	return strings.ToLower(net.JoinHostPort(u.Hostname(), port))
}

func (p *Policy) isProxy(address string) bool {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return len(p.proxies) > 0 && slices.Contains(p.proxies, strings.ToLower(address))
}

// noteProxy lets a proxy be dialled without a check, because an operator chose it. There are at most two, for http
// and https.
func (p *Policy) noteProxy(address string) {
	if p.isProxy(address) {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.proxies = append(p.proxies, address)
}
