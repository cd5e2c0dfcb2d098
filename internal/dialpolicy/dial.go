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

// Dial returns the dial function of an http.Transport that connects by the policy. The dialer must have no Control of its
// own.
func (p *Policy) Dial(dialer *net.Dialer) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		if p.isProxy(address) {
			return dialer.DialContext(ctx, network, address)
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

// shown names an address that is dialled, and the name that it was found by.
func shown(t target, found netip.AddrPort) string {
	if t.ip.IsValid() {
		return t.text
	}
	return t.text + " (" + found.Addr().String() + ")"
}

// Proxy returns the Proxy function of an http.Transport with the Dial above, choose being the operator's; nil stays nil. A request
// that goes through a proxy is checked here, as far as the text of its host tells: it is the proxy that looks names up.
// Where [Hosts] are listed such a name has to be among them.
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
			return nil, nil //nolint:nilnil // what net/http takes for "none"
		}
		if err := p.checkText(t, true); err != nil {
			return nil, err
		}
		p.noteProxy(hostPort(proxy))
		return proxy, nil
	}
}

// hostPort is what net/http dials for a URL.
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

// noteProxy has a proxy dialled without a check: an operator chose it. There are two at most, for http and for https.
func (p *Policy) noteProxy(address string) {
	if p.isProxy(address) {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.proxies = append(p.proxies, address)
}
