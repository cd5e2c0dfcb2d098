package dialpolicy_test

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis/internal/dialpolicy"
)

func newPolicy(t *testing.T, hosts string) *dialpolicy.Policy {
	t.Helper()
	h, err := dialpolicy.ParseHosts(hosts)
	require.NoError(t, err)
	return dialpolicy.New(h)
}

// requireRefused checks that an address is refused for a reason; an empty reason means that it is allowed.
func requireRefused(t *testing.T, err error, reason, address string) {
	t.Helper()
	if reason == "" {
		require.NoError(t, err, address)
		return
	}
	var refused *dialpolicy.RefusedError
	require.ErrorAs(t, err, &refused, address)
	require.Contains(t, refused.Reason, reason, address)
}

const (
	metadata  = "a metadata address"
	form      = "neither a name nor an IP address"
	port      = "the port is not from 1 to 65535"
	linkLocal = "a link-local address"
	notListed = "not among WORKFLOW_WORLD_APP_HOSTS"
	listens   = "where a server listens"
)

func TestWhatAnAddressTellsByItself(t *testing.T) {
	t.Parallel()
	p := newPolicy(t, "")
	for address, reason := range map[string]string{
		"http://localhost:3000": "", "http://127.0.0.1:3000/base": "", "http://10.0.0.5": "", "https://App.Example.:8443": "", "http://[::1]:3000": "",
		"http://my_app-1:3000": "", "http://1app:80": "", "http://host.docker.internal:3000": "", "http://[fd00::1]": "", "http://0xcafe.example": "",

		"http://169.254.169.254/latest": metadata, "http://[fd00:ec2::254]": metadata, "http://100.100.100.200": metadata, "http://192.0.0.192": metadata,
		"http://168.63.129.16:80": metadata, "http://[::ffff:169.254.169.254]": metadata, "http://[::ffff:a9fe:a9fe]": metadata, "http://[64:ff9b::a9fe:a9fe]": metadata,
		"http://[2002:a9fe:a9fe::1]": metadata, "http://metadata.google.internal": metadata, "http://METADATA.google.internal.": metadata, "http://[fe80::a9fe:a9fe%25eth0]": metadata,

		"http://169.254.1.2:3000": linkLocal, "http://[fe80::1%25eth0]:3000": linkLocal, "http://[::ffff:169.254.1.2]": linkLocal,

		"http://0.0.0.0:3000": listens, "http://[::]:3000": listens, "http://[::ffff:0.0.0.0]": listens,

		"http://0x7f000001": form, "http://2130706433": form, "http://127.1": form, "http://0177.0.0.1": form, "http://127.0.0.0x1": form, "http://1.2.3.4.5": form,
		"http://１２７.0.0.1": form, "http://a..b": form, "http://" + strings.Repeat("a", 64): form, "http://a,b": form, "http://0x": form, "http://[127.0.0.1]": "not an http",

		"http://app:99999": port, "http://app:0": port, "http://app:65536": port, "http://app:65535": "",

		"ftp://app": "not an http:// or https:// address", "gopher://app": "not an http", "//app": "not an http", "app:80": "not an http", "": "not an http",
		"http://user:secret@app": "a user name or password",
	} {
		err := p.Check(address)
		requireRefused(t, err, reason, address)
		if err != nil {
			require.NotContains(t, err.Error(), "secret")
		}
	}
}

func TestListedHostsNarrow(t *testing.T) {
	t.Parallel()
	names := newPolicy(t, "App.example., *.shop.example")
	for address, reason := range map[string]string{
		"http://app.example:3000": "", "http://APP.example.": "", "http://eu.shop.example": "", "http://a.b.shop.example": "",
		"http://shop.example": notListed, "http://notshop.example": notListed, "http://10.0.0.5": notListed, "http://localhost": notListed,
	} {
		requireRefused(t, names.Check(address), reason, address)
	}
	both := newPolicy(t, "app,10.0.0.0/8,192.168.1.7,[fd00::1],169.254.1.2,169.254.169.254,fe80::/10,fe80::5")
	for address, reason := range map[string]string{
		"http://app": "", "http://10.9.9.9": "", "http://[::ffff:10.9.9.9]": "", "http://192.168.1.7": "", "http://[fd00::1]": "", "http://169.254.1.2": "", "http://[fe80::5%25eth0]": "",
		"http://other":    "", // it may resolve to one of them
		"http://11.0.0.1": notListed, "http://192.168.1.8": notListed, "http://169.254.169.254": metadata, "http://169.254.1.3": linkLocal, "http://[fe80::6]": linkLocal,
	} {
		requireRefused(t, both.Check(address), reason, address)
	}
	all := newPolicy(t, "*, 169.254.1.2")
	for address, reason := range map[string]string{
		"http://anything": "", "http://1.2.3.4": "", "http://169.254.1.2": "", "http://169.254.1.3": linkLocal,
	} {
		requireRefused(t, all.Check(address), reason, address)
	}
	for setting, entry := range map[string]string{"app:3000": "entry 1", "a,http://b": "entry 2", "a,,10.0.0.0/33": "entry 2", "*.": "entry 1", "a.*.b": "entry 1", "127.1": "entry 1"} {
		_, err := dialpolicy.ParseHosts(setting)
		require.ErrorContains(t, err, "WORKFLOW_WORLD_APP_HOSTS: "+entry, setting)
	}
}

func TestForbiddenPlaces(t *testing.T) {
	t.Parallel()
	p := newPolicy(t, "")
	p.Forbid(dialpolicy.Place{What: "the one", Names: []string{"localhost:1000", "redis.example:1001", "0.0.0.0:1002", ":1003", "127.0.0.1:0", "/run/redis.sock"}})
	var bound []netip.AddrPort
	p.Forbid(dialpolicy.Place{What: "the other", Addresses: func() []netip.AddrPort { return bound }})
	p.Forbid(dialpolicy.Place{What: "the third", Names: []string{"127.0.0.1:3000"}, Aliased: true})
	require.NoError(t, p.Check("http://127.0.0.1:2000"))
	bound = []netip.AddrPort{netip.MustParseAddrPort("[::]:2000"), netip.MustParseAddrPort("[::ffff:127.0.0.2]:2001")}
	for address, reason := range map[string]string{
		"http://localhost:1000": "it is the one", "http://127.0.0.1:1000": "it is the one", "http://[::1]:1000": "it is the one", "http://127.0.0.2:1000": "",
		"http://Redis.example.:1001": "it is the one", "http://redis.example:1000": "",
		"http://127.0.0.1:1002": "it is the one", "http://localhost:1003": "it is the one", "http://192.0.2.1:1002": "",
		"http://127.0.0.1:2000": "it is the other", "http://localhost:2000": "it is the other", "http://127.9.9.9:2000": "it is the other", "http://127.0.0.2:2001": "it is the other",
		"http://127.0.0.1:2001": "", "http://localhost:2002": "",
		"http://127.0.0.9:3000": "it is the third", "http://localhost:3000": "it is the third", "http://192.0.2.1:3000": "",
	} {
		requireRefused(t, p.Check(address), reason, address)
	}
	interfaces, err := net.InterfaceAddrs()
	require.NoError(t, err)
	for _, a := range interfaces {
		own, ok := netip.AddrFromSlice(a.(*net.IPNet).IP)
		if own = own.Unmap(); ok && !own.IsLinkLocalUnicast() {
			requireRefused(t, p.Check("http://"+netip.AddrPortFrom(own, 2000).String()), "it is the other", own.String())
		}
	}
}

// nameServer answers every question for an IPv4 address with the same one, and others with none.
func nameServer(t *testing.T, answer string) *net.Resolver {
	t.Helper()
	server, err := new(net.ListenConfig).ListenPacket(t.Context(), "udp", "127.0.0.1:0")
	require.NoError(t, err)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		buffer := make([]byte, 1500)
		for {
			n, from, err := server.ReadFrom(buffer)
			if err != nil {
				return
			}
			const header = 12
			end := header
			for buffer[end] != 0 {
				end += int(buffer[end]) + 1
			}
			kind := binary.BigEndian.Uint16(buffer[end+1:])
			reply := append([]byte(nil), buffer[:min(n, end+5)]...)
			reply[2], reply[3] = 0x81, 0x80
			clear(reply[6:header])
			if kind == 1 {
				reply[7] = 1
				reply = append(reply, 0xc0, header, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4)
				v4 := netip.MustParseAddr(answer).As4()
				reply = append(reply, v4[:]...)
			}
			if _, err := server.WriteTo(reply, from); err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		require.NoError(t, server.Close())
		<-ended
	})
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", server.LocalAddr().String())
	}}
}

// A name is checked when it is resolved: one that was harmless at its registration may resolve to any address by then.
func TestNamesAreCheckedWhenDialled(t *testing.T) {
	t.Parallel()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, listener.Close()) })
	at := netip.MustParseAddrPort(listener.Addr().String())
	for story, c := range map[string]struct {
		hosts, resolves string
		place           dialpolicy.Place
		reason          string
	}{
		"any host":             {resolves: "127.0.0.1"},
		"a listed name":        {hosts: "app.example", resolves: "127.0.0.1"},
		"a listed address":     {hosts: "127.0.0.0/8", resolves: "127.0.0.1"},
		"another address":      {hosts: "10.0.0.0/8", resolves: "127.0.0.1", reason: notListed},
		"metadata":             {hosts: "app.example", resolves: "169.254.169.254", reason: metadata},
		"link-local":           {hosts: "app.example", resolves: "169.254.7.7", reason: linkLocal},
		"the service":          {resolves: "127.0.0.1", place: dialpolicy.Place{What: "us", Addresses: func() []netip.AddrPort { return []netip.AddrPort{at} }}, reason: "it is us"},
		"the service anywhere": {resolves: "127.0.0.1", place: dialpolicy.Place{What: "us", Names: []string{":" + at.String()[len("127.0.0.1:"):]}}, reason: "it is us"},
		"0.0.0.0":              {resolves: "0.0.0.0", reason: listens},
	} {
		t.Run(story, func(t *testing.T) {
			t.Parallel()
			p := newPolicy(t, c.hosts)
			p.Forbid(c.place)
			require.NoError(t, p.Check("http://app.example:"+url.PathEscape(at.String()[len("127.0.0.1:"):])))
			dial := p.Dial(&net.Dialer{Resolver: nameServer(t, c.resolves)})
			conn, err := dial(t.Context(), "tcp", net.JoinHostPort("app.example", at.String()[len("127.0.0.1:"):]))
			requireRefused(t, err, c.reason, story)
			if err == nil {
				require.NoError(t, conn.Close())
			} else {
				require.ErrorContains(t, err, "app.example")
				require.ErrorContains(t, err, c.resolves)
			}
		})
	}
}

// An address is checked again when it is dialled, because an older build may have stored it.
func TestAddressesAreCheckedWhenDialled(t *testing.T) {
	t.Parallel()
	dial := newPolicy(t, "").Dial(&net.Dialer{})
	for address, reason := range map[string]string{
		"169.254.169.254:80": metadata, "[fe80::1]:80": linkLocal, "0x7f000001:80": form, "2130706433:80": form, "127.0.0.1:99999": port, "127.0.0.1": "not host:port",
	} {
		_, err := dial(t.Context(), "tcp", address)
		requireRefused(t, err, reason, address)
	}
}

// A proxy may have any address. The target is checked as it is written, and the proxy itself cannot be reached as an
// app.
func TestThroughAProxyTheTextIsChecked(t *testing.T) {
	t.Parallel()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, listener.Close()) })
	proxy := &url.URL{Scheme: "http", Host: listener.Addr().String()}
	p := newPolicy(t, "app.example,10.0.0.0/8")
	choose := p.Proxy(func(r *http.Request) (*url.URL, error) {
		switch r.URL.Hostname() {
		case "wrong.example":
			return nil, errors.New("no proxy of that name")
		case "127.0.0.1":
			return nil, nil //nolint:nilnil // none
		}
		return proxy, nil
	})
	ask := func(address string) (*url.URL, error) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, http.NoBody)
		require.NoError(t, err)
		return choose(r)
	}
	dial := p.Dial(&net.Dialer{})
	_, err = dial(t.Context(), "tcp", proxy.Host)
	requireRefused(t, err, notListed, "no request goes through it yet")
	for address, reason := range map[string]string{
		"http://app.example": "", "http://10.0.0.5": "",
		"http://other.example": notListed, "http://11.0.0.5": notListed, "http://169.254.169.254": metadata, "http://metadata.google.internal": metadata, "http://0x7f000001": form,
	} {
		u, err := ask(address)
		requireRefused(t, err, reason, address)
		if err == nil {
			require.Equal(t, proxy, u)
		}
	}
	_, err = ask("http://wrong.example")
	require.ErrorContains(t, err, "no proxy of that name")
	conn, err := dial(t.Context(), "tcp", proxy.Host)
	require.NoError(t, err)
	require.NoError(t, conn.Close())
	_, err = ask("http://" + proxy.Host)
	requireRefused(t, err, "it is the proxy of the service", proxy.Host)
	u, err := ask("http://127.0.0.1:1")
	require.NoError(t, err)
	require.Nil(t, u)
	require.Nil(t, p.Proxy(nil))
}

// A redirect decides where a connection is made, and the policy checks what it decides.
func TestARedirectDecidesWhereIsDialled(t *testing.T) {
	t.Parallel()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, listener.Close()) })
	missing := errors.New("not there yet")
	p := newPolicy(t, "")
	p.Redirect(func(address string) (string, error) {
		switch address {
		case "localhost:3000":
			return listener.Addr().String(), nil
		case "localhost:3001":
			return "169.254.169.254:80", nil
		default:
			return "", missing
		}
	})
	dial := p.Dial(&net.Dialer{})
	conn, err := dial(t.Context(), "tcp", "localhost:3000")
	require.NoError(t, err)
	require.Equal(t, listener.Addr().String(), conn.RemoteAddr().String())
	require.NoError(t, conn.Close())
	_, err = dial(t.Context(), "tcp", "localhost:3001")
	requireRefused(t, err, metadata, "localhost:3001")
	_, err = dial(t.Context(), "tcp", "localhost:3002")
	require.ErrorIs(t, err, missing)
}
