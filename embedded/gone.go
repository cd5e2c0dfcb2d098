package embedded

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"syscall"
	"time"
)

// goneTimeout limits the check whether anything listens.
const goneTimeout = time.Second

// Gone reports whether certainly nothing listens at an app's address, because its host refuses a connection. If that
// is not certain, it returns false: for example if the host does not answer, or if deliveries use a proxy.
func (f *Forwarder) Gone(ctx context.Context, baseURL string) bool {
	u, err := url.Parse(baseURL)
	if err != nil || u.Host == "" || f.proxied(u) {
		return false
	}
	host := u.Host
	if u.Port() == "" {
		host = net.JoinHostPort(u.Hostname(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
	}
	dialer := net.Dialer{Timeout: goneTimeout}
	conn, err := f.policy.Dial(&dialer)(ctx, "tcp", host)
	if err == nil {
		_ = conn.Close() // nothing was written
		return false
	}
	return errors.Is(err, syscall.ECONNREFUSED)
}

// proxied reports whether deliveries to an address use a proxy.
func (f *Forwarder) proxied(u *url.URL) bool {
	transport, ok := f.client.Transport.(*http.Transport)
	if !ok {
		return true
	}
	if transport.Proxy == nil {
		return false
	}
	proxy, err := transport.Proxy(&http.Request{URL: u, Header: http.Header{}})
	return err != nil || proxy != nil
}
